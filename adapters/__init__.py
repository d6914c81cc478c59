"""Models: conversations in, replies out.

The records and the contract are below; `make("openai:gpt-4o")` gives an adapter, `names()` lists
what can be named. Importing this package loads no provider's SDK. Prices are in `adapters.prices`.

Part of vlm-web-eval.
"""

from adapters.catalog import (
    ADAPTERS,
    EMBEDDERS,
    EMBEDDING_MODELS,
    MODELS,
    AdapterSpec,
    Catalog,
    describe,
    make,
    names,
    options_of,
    resolve,
)
from adapters.contract import (
    Adapter,
    AdapterInfo,
    BatchAdapter,
    Described,
    EncodedPicture,
    Fatal,
    Fault,
    FaultKind,
    Generation,
    ImageRule,
    ModelInfo,
    PictureSource,
    PixelPicture,
    Request,
)
from adapters.conversation import (
    Conversation,
    Finish,
    Message,
    Part,
    Picture,
    Reply,
    Role,
    Text,
    Usage,
    canonical_json,
    system,
    user,
)
from adapters.embedding import Embedded, Embedder, EmbedderInfo
from adapters.registry import Registry, UnknownName

__all__ = [
    "ADAPTERS",
    "EMBEDDERS",
    "EMBEDDING_MODELS",
    "MODELS",
    "Adapter",
    "AdapterInfo",
    "AdapterSpec",
    "BatchAdapter",
    "Catalog",
    "Conversation",
    "Described",
    "Embedded",
    "Embedder",
    "EmbedderInfo",
    "EncodedPicture",
    "Fatal",
    "Fault",
    "FaultKind",
    "Finish",
    "Generation",
    "ImageRule",
    "Message",
    "ModelInfo",
    "Part",
    "Picture",
    "PictureSource",
    "PixelPicture",
    "Registry",
    "Reply",
    "Request",
    "Role",
    "Text",
    "UnknownName",
    "Usage",
    "canonical_json",
    "describe",
    "make",
    "names",
    "options_of",
    "resolve",
    "system",
    "user",
]
