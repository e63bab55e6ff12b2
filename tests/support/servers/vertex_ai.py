"""What Vertex AI adds to the fake Gemini server: paths with a project, and access tokens for a service account."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PROJECT, LOCATION = "garden", "europe-west4"
MODELS = f"projects/{PROJECT}/locations/{LOCATION}/publishers/google/models"

TOKEN_PATH = "/token"
MODEL_PATH = re.compile(
    r"^/v1beta1/(?P<model>(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models/[^:?/]+)(?::(?P<method>\w+))?"
)
_TOKEN = "no-real-token"
TOKEN_ANSWER = {"access_token": _TOKEN, "expires_in": 3600, "token_type": "Bearer"}


def is_authorized(headers: Mapping[str, str]) -> bool:
    """Return whether a request has the access token, or a key as in express mode."""
    return headers.get("Authorization") == f"Bearer {_TOKEN}" or bool(headers.get("x-goog-api-key"))


def write_credentials(folder: Path, *, token_url: str) -> dict[str, str]:
    """Write the file of a service account that gets its tokens from `token_url`; return the variables that name it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    account = {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key": pem.decode(),
        "client_email": f"memory@{PROJECT}.example",
        "token_uri": token_url,
    }
    path = folder / "service-account.json"
    path.write_text(json.dumps(account), encoding="utf-8")
    return {
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "GOOGLE_CLOUD_LOCATION": LOCATION,
        "GOOGLE_APPLICATION_CREDENTIALS": str(path),
    }
