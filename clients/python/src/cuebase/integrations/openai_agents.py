"""Memory for the OpenAI Agents SDK: `CuebaseSession` keeps the items of a session, `recall_tool` finds memories.

A session is one managed conversation of the server. Each item is one message with two parts: the text that was said,
from which the server makes memories, and the exact item as JSON. Other sessions recall what was said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal, Union, cast

from agents import FunctionTool, RunContextWrapper, TResponseInputItem, function_tool
from agents.memory import SessionSettings

from .. import Admission, AsyncClient, ContentPart, Conversation, ConversationMessage, Message, NotFound, error_codes
from ._contexts import with_paths

__all__ = ["CuebaseSession", "Namespace", "recall_tool"]

#: A namespace, or a function that returns the namespace of a run. `None` is the namespace of the client.
Namespace = Union[str, Callable[[RunContextWrapper[Any]], str], None]

#: Type of the part of a message that holds the item.
_ITEM = "openai_agents_item"
#: Begin of the titles of the conversations that sessions are kept in.
_TITLE = "OpenAI Agents session "
#: Types of the parts of an item that hold what was said.
_TEXT_PARTS = ("input_text", "output_text", "text")

Role = Literal["user", "assistant", "system", "tool"]


class CuebaseSession:
    """A `Session` whose items are kept in a managed conversation. The text of its messages becomes memories.

    The conversation has a title made from `session_id`. The first use looks for it among the conversations of
    `namespace`, the newest first; `conversation_id` skips the search. `user_name` is the name of the user in memories.

    A session is used by one event loop at a time, that of `client`. Two processes that use a new session at the same
    time may create two conversations.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncClient,
        *,
        namespace: str | None = None,
        conversation_id: str | None = None,
        user_name: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self._client = client
        self._namespace = namespace
        self._conversation_id = conversation_id
        self._user_name = user_name
        self._lock = asyncio.Lock()

    @property
    def conversation_id(self) -> str | None:
        """The id of the conversation, or `None` before the first use of a session and after `clear_session`."""
        return self._conversation_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the items in the order in which they were added; with `limit`, the last ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        async with self._lock:
            conversation = await self._conversation()
        items = [item for message in _messages(conversation) if (item := _item(message)) is not None]
        if limit is None:
            return items
        return items[-limit:] if limit > 0 else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items. They are durable when this returns; what they say can be recalled some milliseconds later."""
        if not items:
            return
        messages = [_message(item, self._user_name) for item in items]
        async with self._lock:
            conversation = await self._conversation()
            if conversation is None:
                title = self._title()
                conversation = await self._client.create_conversation(title, namespace=self._namespace)
                self._conversation_id = conversation.id
            await self._client.append(conversation.id, messages)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the last item and returns it. A memory made from the item stays."""
        async with self._lock:
            conversation = await self._conversation()
            messages = [message for message in _messages(conversation) if _item(message) is not None]
            if conversation is None or not messages:
                return None
            if len(messages) == 1:
                await self._delete(conversation)
            else:
                await self._client.rewind(conversation.id, messages[-2].id)
            return _item(messages[-1])

    async def clear_session(self) -> None:
        """Deletes the conversation. Memories made from it stay."""
        async with self._lock:
            conversation = await self._conversation()
            if conversation is not None:
                await self._delete(conversation)

    async def _delete(self, conversation: Conversation) -> None:
        await self._client.delete_conversation(conversation.id)
        self._conversation_id = None

    async def _conversation(self) -> Conversation | None:
        """Returns the conversation with its messages, or `None` if the session has none."""
        if self._conversation_id is None:
            self._conversation_id = await self._find()
        if self._conversation_id is None:
            return None
        try:
            return await self._client.conversation(self._conversation_id)
        except NotFound as error:
            if error.code != error_codes.NOT_FOUND:
                raise
            # Another session object cleared the session.
            self._conversation_id = None
            return None

    async def _find(self) -> str | None:
        title = self._title()
        async for conversation in self._client.conversations(namespace=self._namespace):
            if conversation.title == title:
                return conversation.id
        return None

    def _title(self) -> str:
        return _TITLE + self.session_id


def recall_tool(
    client: AsyncClient, *, namespace: Namespace = None, max_tokens: int = 1500, admit: Admission = "balanced"
) -> FunctionTool:
    """Returns a tool `recall` with which an agent finds memories, also those of other sessions.

    `admit` says how relevant a memory must be, and `max_tokens` how long the result may be. An error of the server is the
    result of the tool, so the agent continues without memories.
    """

    async def recall(context: RunContextWrapper[Any], query: str) -> str:
        """Finds what was said in earlier conversations. Each entry of the result names its memory in brackets.

        Args:
            query: What to look for, in a few words or as a question.
        """
        searched = namespace(context) if callable(namespace) else namespace
        found = await client.context(query, namespace=searched, max_tokens=max_tokens, admit=admit)
        return with_paths(found) or "Nothing about this is remembered."

    return function_tool(recall, failure_error_function=_failure)


def _failure(context: RunContextWrapper[Any], error: Exception) -> str:
    return f"Memories cannot be searched now: {error}"


# Items as messages of a conversation.


def _message(item: TResponseInputItem, user_name: str | None) -> Message:
    fields = cast(dict[str, object], item)
    role, text = _said(fields)
    # The text must be Unicode, and JSON text escapes what is not.
    text = text.encode(errors="replace").decode()
    if fields == {"role": role, "content": text}:
        message: Message = {"role": role, "content": text}
    else:
        parts: list[ContentPart] = [{"type": _ITEM, "json": json.dumps(fields)}]
        if text:
            parts.insert(0, {"type": "text", "text": text})
        message = {"role": role, "content": parts}
    if role == "user" and user_name:
        message["name"] = user_name
    return message


def _said(item: dict[str, object]) -> tuple[Role, str]:
    """Returns the role of an item and what was said. Calls of tools, their results and reasoning say nothing."""
    role = item.get("role")
    if role == "user" or role == "assistant":
        return role, _text(item.get("content"))
    if role is not None:
        return "system", _text(item.get("content"))
    return ("tool" if str(item.get("type", "")).endswith("_output") else "assistant"), ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    if isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str):
                texts.append(part["text"])
    return "\n\n".join(texts)


def _messages(conversation: Conversation | None) -> tuple[ConversationMessage, ...]:
    if conversation is None:
        return ()
    return conversation.messages or ()


def _item(message: ConversationMessage) -> TResponseInputItem | None:
    """Returns the item of a message. A message of another program is an item if the model can read it."""
    content = message.content
    if not isinstance(content, str):
        for part in content:
            if part.get("type") == _ITEM:
                return cast(TResponseInputItem, json.loads(str(part.get("json"))))
        content = _text(content)
    if message.role == "tool":
        return None
    return cast(TResponseInputItem, {"role": message.role, "content": content})
