"""The keys of encrypted Parquet files, as pyarrow has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from crossdock.errors import make_error

if TYPE_CHECKING:
    from pyarrow.parquet import FileDecryptionProperties
    from pyarrow.parquet.encryption import (
        CryptoFactory,
        DecryptionConfiguration,
        KmsConnectionConfig,
    )

# Properties, or the factory that makes them with a connection to a key management service.
Decryption: TypeAlias = (
    "FileDecryptionProperties | tuple[CryptoFactory, KmsConnectionConfig] "
    "| tuple[CryptoFactory, KmsConnectionConfig, DecryptionConfiguration]"
)
_EXAMPLES = (
    "decryption=(factory, connection), of pyarrow's CryptoFactory and KmsConnectionConfig, or "
    "decryption=properties, its FileDecryptionProperties"
)
NO_KEYS = f"read_parquet(..., {_EXAMPLES})"


def decryption_properties(given: Decryption | None) -> FileDecryptionProperties | None:
    """What pyarrow decrypts with. OptionError for what is none of Decryption, or where this pyarrow
    has no encryption."""
    if given is None:
        return None
    try:
        from pyarrow.parquet import FileDecryptionProperties, encryption
    except ImportError as error:
        raise make_error(
            "CD-105", "this pyarrow was built without encryption", try_="pip install pyarrow"
        ) from error
    if isinstance(given, FileDecryptionProperties):
        return given
    if isinstance(given, Sequence) and len(given) in (2, 3):
        kinds = (
            encryption.CryptoFactory,
            encryption.KmsConnectionConfig,
            encryption.DecryptionConfiguration,
        )
        if all(isinstance(part, kind) for part, kind in zip(given, kinds, strict=False)):
            factory, *others = given
            return factory.file_decryption_properties(*others)
    raise make_error(
        "CD-105", f"read_parquet(decryption=...) of type {type(given).__name__} is neither "
        "pyarrow's properties nor a pair of its factory and connection", try_=_EXAMPLES,
    )  # fmt: skip
