"""What the SDK's answers and errors mean: kinds of failure, and the store's clock."""

import email.utils
import time

from botocore.exceptions import ClientError, NoCredentialsError, NoRegionError, PartialCredentialsError


def status(e: Exception | None) -> int:
    return e.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if isinstance(e, ClientError) else 0


def kind_of(e: Exception) -> str:
    """What may be done about an error of the SDK."""
    if isinstance(e, (NoCredentialsError, PartialCredentialsError, NoRegionError)):
        return "refused"
    if not isinstance(e, ClientError):
        return "unavailable"
    code = e.response.get("Error", {}).get("Code", "")
    if code in ("ExpiredToken", "RequestTimeout", "BadDigest", "XAmzContentChecksumMismatch"):
        return "unavailable"
    match status(e):
        case 404:
            return "not_found"
        case 412:
            return "conflict"
        case 400 | 401 | 403 | 405 | 501:
            return "refused"
    return "unavailable"


def clock(answer: dict) -> float:
    """When the store answered, by its own clock."""
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    return email.utils.parsedate_to_datetime(date).timestamp() if date else time.time()
