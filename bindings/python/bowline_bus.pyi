"""Publish and subscribe, with LCM on the wire: the names of the module lcm, and more."""

from os import PathLike
from types import TracebackType
from typing import Any, Callable, Iterator, Literal, NoReturn, Optional, Protocol, Type, TypedDict, TypeVar, Union, overload

_Message = TypeVar("_Message", covariant=True)
_T = TypeVar("_T")
_Queue = Literal["keep_newest", "keep_oldest", "latest"]

class _Decodes(Protocol[_Message]):
    """A type made from a .lcm file, or anything else with decode()."""

    def decode(self, data: bytes, /) -> _Message: ...

class _Encodes(Protocol):
    """A message, or anything else with encode(); str among them."""

    def encode(self) -> Any: ...

# Whatever has a buffer, which typing can name only since Python 3.12: bytes, bytearray, memoryview, numpy arrays...
_Buffer = Any
_Data = Union[bytes, _Encodes, _Buffer]

class NetworkCounts(TypedDict):
    datagrams: int
    unwanted: int
    lost: int
    late: int
    duplicates: int
    incomplete: int
    partial: int
    partial_bytes: int
    conflicts: int
    kernel_drops: int
    filtered: int
    malformed: int
    senders: int
    reconnects: int
    receive_buffer: int

class Counts(TypedDict):
    published: int
    published_bytes: int
    publish_failures: int
    received: int
    received_bytes: int
    queue_drops: int
    replaced: int
    undecodable: int
    lost: int
    network: NetworkCounts

class QueueCounts(TypedDict):
    queued: int
    dropped: int
    replaced: int
    waiting: int
    waiting_bytes: int
    undecodable: int

class LCM:
    """A connection to a bus."""

    def __init__(self, url: Optional[str] = None) -> None: ...
    @property
    def url(self) -> str: ...
    def publish(self, channel: str, data: _Data) -> None: ...
    @overload
    def subscribe(
        self,
        channel: str,
        handler: Callable[[str, bytes], Any],
        *,
        type: None = None,
        queue: Optional[_Queue] = None,
        capacity: Optional[int] = None,
    ) -> LCMSubscription: ...
    @overload
    def subscribe(
        self,
        channel: str,
        handler: Callable[[str, _T], Any],
        *,
        type: _Decodes[_T],
        queue: Optional[_Queue] = None,
        capacity: Optional[int] = None,
    ) -> LCMSubscription: ...
    def unsubscribe(self, subscription_object: LCMSubscription) -> None: ...
    def handle(self) -> None: ...
    def handle_timeout(self, timeout_millis: int) -> int: ...
    def fileno(self) -> int: ...
    def counts(self) -> Counts: ...

class LCMSubscription:
    """A handler of messages on some channels, as LCM.subscribe() returns it."""

    @property
    def channel(self) -> str: ...
    @property
    def queue_capacity(self) -> int: ...
    def set_queue_capacity(self, num_messages: int) -> None: ...
    def get_queue_size(self) -> int: ...
    def counts(self) -> QueueCounts: ...

class Step:
    """A step that is requested of a program."""

    @property
    def number(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def reason(self) -> Literal["start", "message", "period", "wake"]: ...
    @property
    def channel(self) -> str: ...

def deterministic(
    bus: LCM,
    step: Optional[Callable[[Step], Optional[int]]] = None,
    *,
    period: float = 0.0,
    name: str = "",
) -> NoReturn:
    """Takes steps on request, for a program that a robot file declares deterministic."""

class Event:
    """One event of a log."""

    eventnum: int
    timestamp: int
    channel: str
    data: bytes
    def __init__(self, eventnum: int, timestamp: int, channel: str, data: bytes) -> None: ...

class EventLog(Iterator[Event]):
    """A file of recorded messages."""

    def __init__(
        self,
        path: Union[str, PathLike[str]],
        mode: Literal["r", "w", "a"] = "r",
        overwrite: bool = False,
    ) -> None: ...
    @property
    def mode(self) -> str: ...
    @property
    def damaged_bytes(self) -> int: ...
    def read_next_event(self) -> Optional[Event]: ...
    def next(self) -> Event: ...
    def __iter__(self) -> EventLog: ...
    def __next__(self) -> Event: ...
    def write_event(self, utime: int, channel: str, data: _Data) -> None: ...
    def seek(self, filepos: int) -> None: ...
    def seek_to_timestamp(self, timestamp: int) -> None: ...
    def tell(self) -> int: ...
    def size(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> EventLog: ...
    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...

__version__: str
