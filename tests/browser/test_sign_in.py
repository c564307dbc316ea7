"""Sign-in with an external issuer: authorization code, PKCE and ID token. The issuer is imitated here."""

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from playwright.sync_api import expect

CLIENT = "the-dashboard"


class Issuer(ThreadingHTTPServer):
    """Signs every user in as the account `acme`, if the PKCE proof is correct."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.codes: dict[str, dict[str, str]] = {}
        self.nonce_override = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def key_set(self):
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": "one", "alg": "RS256", "use": "sig"}]}

    def discovery(self):
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/.well-known/jwks.json",
        }

    def authorize(self, request):
        code = f"code-{len(self.codes)}"
        self.codes[code] = request
        return f"{request['redirect_uri']}?{urlencode({'code': code, 'state': request['state']})}"

    def token(self, form):
        request = self.codes.pop(form["code"], None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        is_valid = request and request["code_challenge"] == proof and request["code_challenge_method"] == "S256"
        if not is_valid or form["redirect_uri"] != request["redirect_uri"] or form["client_id"] != request["client_id"]:
            return None
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 600, "token_use": "id"}
        claims |= {"custom:tenant_id": "acme", "email": "noor@example.com"}
        claims["nonce"] = self.nonce_override or request["nonce"]
        return {"id_token": jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})}


class Handler(BaseHTTPRequestHandler):
    server: Issuer

    def do_GET(self):
        target = urlsplit(self.path)
        if target.path == "/.well-known/openid-configuration":
            self.answer(200, self.server.discovery())
        elif target.path == "/.well-known/jwks.json":
            self.answer(200, self.server.key_set())
        elif target.path == "/authorize":
            request = {name: values[0] for name, values in parse_qs(target.query).items()}
            self.answer(302, {}, {"location": self.server.authorize(request)})
        else:
            self.answer(404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        token = self.server.token(form) if self.path == "/token" else None
        self.answer(200 if token else 400, token or {"error": "invalid_grant"})

    def answer(self, status, body, headers={}):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def issuer():
    issuer = Issuer()
    yield issuer
    issuer.shutdown()


@pytest.fixture(scope="module")
def service(start, issuer):
    return start("serve", CUEBASE_IDENTITY_ISSUER=issuer.url, CUEBASE_IDENTITY_AUDIENCE=CLIENT)


def start_sign_in(service, issuer, visit):
    host = urlsplit(issuer.url).netloc
    page = visit(service.dashboard, elsewhere=[host])
    page.get_by_role("button", name=f"Sign in with {host}").click()
    return page


def test_an_external_issuer_signs_users_in(service, issuer, visit):
    page = start_sign_in(service, issuer, visit)
    expect(page.get_by_role("heading", name="Search", level=1)).to_be_visible()
    expect(page.get_by_text("acme", exact=True)).to_be_visible()
    assert "code=" not in page.url and "state=" not in page.url


def test_an_unrequested_sign_in_response_is_refused(service, issuer, visit):
    page = visit(f"{service.dashboard}/?code=stolen&state=invented")
    expect(page.get_by_role("alert")).to_contain_text("not started in this tab")


def test_a_token_for_another_sign_in_is_refused(service, issuer, visit):
    issuer.nonce_override = "another"
    try:
        page = start_sign_in(service, issuer, visit)
        expect(page.get_by_role("alert")).to_contain_text("not for this sign-in")
    finally:
        issuer.nonce_override = None


def test_an_unreachable_issuer_is_reported(start, visit):
    service = start("serve", CUEBASE_IDENTITY_ISSUER="http://127.0.0.1:9", CUEBASE_IDENTITY_AUDIENCE=CLIENT)
    page = visit(service.dashboard)
    expect(page.get_by_text("cannot be reached right now")).to_be_visible()
