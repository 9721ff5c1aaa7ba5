"""A small OpenID Connect provider on this machine: one user, one password, real signed tokens."""

import contextlib
import secrets
import threading
import time
from urllib.parse import urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.routing import Route

USER, PASSWORD = "ada", "lovelace"

FORM = """<form method="post"><input name="user" aria-label="User">
<input name="password" aria-label="Password"><button>Sign in</button></form>"""


class Provider:
    """Answers what an OpenID Connect client asks (authorization code flow)."""

    def __init__(self, port):
        self.issuer = f"http://localhost:{port}"
        self.key = RSAKey.generate_key(2048, parameters={"kid": "one", "use": "sig", "alg": "RS256"})
        self.asked = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.metadata),
                Route("/authorize", self.authorize, methods=["GET", "POST"]),
                Route("/token", self.token, methods=["POST"]),
                Route("/keys", self.keys),
            ]
        )

    async def metadata(self, request):
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def authorize(self, request):
        if request.method == "GET":
            return HTMLResponse(FORM)
        form = await request.form()
        if (form["user"], form["password"]) != (USER, PASSWORD):
            return HTMLResponse(f"<p>Wrong password</p>{FORM}", 401)
        code = secrets.token_hex(8)
        self.asked[code] = dict(request.query_params)
        back = {"code": code, "state": request.query_params["state"]}
        return RedirectResponse(f"{request.query_params['redirect_uri']}?{urlencode(back)}", 303)

    async def token(self, request):
        form = await request.form()
        asked = self.asked.pop(form["code"])
        claims = {
            "iss": self.issuer,
            "sub": USER,
            "name": "Ada",
            "aud": asked["client_id"],
            "nonce": asked.get("nonce", ""),
            "iat": int(time.time()),
            "exp": int(time.time()) + 600,
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        return JSONResponse({"access_token": "none", "token_type": "Bearer", "id_token": token})

    async def keys(self, request):
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})


@contextlib.contextmanager
def provider(port):
    """Run a provider as long as the block lasts."""
    server = uvicorn.Server(uvicorn.Config(Provider(port).app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), f"no provider on port {port}"
            time.sleep(0.02)
        yield f"http://localhost:{port}/.well-known/openid-configuration"
    finally:
        server.should_exit = True
        thread.join(10)
