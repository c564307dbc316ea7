"""LlamaIndex: `CuebaseMemoryBlock`, a block of `llama_index.core.memory.Memory`.

The block stores the messages that leave the queue of the `Memory`, and returns the memories that are relevant to the last
message of the user. Requires `llama-index-core`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Literal, Optional, Union

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from .. import models as m
from .._sync import Client
from ._users import TIMEOUT, UserMemory, resolve_namespace, user_namespace

__all__ = ["CuebaseMemoryBlock", "user_namespace"]

_ROLES: dict[MessageRole, Literal["user", "assistant"]] = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
#: Characters that count as one token in `atruncate`. English has about four, so slightly too much is removed.
_TOKEN_CHARS = 5


class CuebaseMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of one user. Different users need different blocks.

    `namespace` is the user's namespace, or a function of `user_id`. A namespace that does not exist is created by the first
    write.

    `Memory` calls the block during a run. With `on_error="warn"`, a server that is stopped or slower than `timeout` seconds
    costs the run its memories and a logged warning; messages that leave the queue meanwhile are not remembered. With
    `on_error="raise"`, the run fails. `aput_active` always raises.
    """

    name: str = "cuebase"
    description: Optional[str] = "Memories of earlier conversations with the user"
    #: `Memory` shortens a block with a priority above 0 when its token limit is exceeded.
    priority: int = 1
    user_id: Optional[str] = None
    namespace: Union[str, Callable[[str], str]] = user_namespace
    max_tokens: int = 1000
    admit: m.Admission = "balanced"
    timeout: float = TIMEOUT
    on_error: Literal["warn", "raise"] = "warn"
    client: Optional[Client] = Field(default=None, exclude=True)

    _memory: UserMemory = PrivateAttr()
    _namespace: str = PrivateAttr()

    def model_post_init(self, _context: Any) -> None:
        self._namespace = resolve_namespace(self.user_id, self.namespace)
        self._memory = UserMemory(self.client, timeout=self.timeout, on_error=self.on_error)

    async def _aget(self, messages: Optional[list[ChatMessage]] = None, **_: Any) -> str:
        for message in reversed(messages or []):
            if message.role == MessageRole.USER:
                return await self._memory.context(
                    self._namespace, _text(message), max_tokens=self.max_tokens, admit=self.admit
                )
        return ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for session_id, turns in _by_session(messages):
            await self._memory.remember(self._namespace, turns, session_id)

    async def aput_active(self, memory: Memory) -> None:
        """Stores the messages that are still in the queue of `memory`. Call it when a session ends.

        A message that leaves the queue later is stored again. Cuebase recognizes the same statement.
        """
        turns = _turns(await memory.aget_all(status=MessageStatus.ACTIVE))
        if turns:
            await self._memory.store(self._namespace, turns, memory.session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> Optional[str]:
        """Removes whole lines from the end, where the least important memories stand."""
        kept = content.splitlines()
        excess = tokens_to_truncate * _TOKEN_CHARS
        while kept and excess > 0:
            excess -= len(kept.pop()) + 1
        return "\n".join(kept) or None

    async def wait_until_ingested(self, timeout: float = 60.0) -> None:
        """Waits until everything that this block stored can be retrieved."""
        await self._memory.wait_until_ingested(timeout)


def _by_session(messages: Sequence[ChatMessage]) -> list[tuple[Optional[str], list[m.Message]]]:
    """Returns the messages of each session, in order. `BaseMemoryBlock.aput` marks messages with their session."""
    sessions: dict[Optional[str], list[ChatMessage]] = {}
    for message in messages:
        sessions.setdefault(message.additional_kwargs.get("session_id"), []).append(message)
    return [(session_id, _turns(each)) for session_id, each in sessions.items()]


def _turns(messages: Sequence[ChatMessage]) -> list[m.Message]:
    """Returns what the user and the assistant said. Instructions and tool calls are left out."""
    turns: list[m.Message] = []
    for message in messages:
        role = _ROLES.get(message.role)
        text = _text(message)
        if role is not None and text:
            turns.append({"role": role, "content": text})
    return turns


def _text(message: ChatMessage) -> str:
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock)).strip()
