"""A small HTTP server on this machine that behaves as told, for tests of downloads."""

import contextlib
import gzip
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jaxbench.named.entry import Named, SourceFile

# Nothing waits longer than this for the other side of a test.
BOUND = 30.0


def source_file(content: bytes, path: str = "data/small/responses.jsonl") -> SourceFile:
    """A pinned file with this content."""
    digest = hashlib.sha256(content).hexdigest()
    return SourceFile("owner/collection/0123abcd", path, digest, len(content))


def small(*files: SourceFile, name: str = "small") -> Named:
    """A benchmark of the catalogue with these files."""
    return Named(
        name, "a small one", 2, 3, 1, "MIT", files=files, aliases=("small_pair", "small_old")
    )


class Server:
    """What is served at which path, and which paths were asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        # Handlers that hold a connection say so, and go on when released.
        self.held, self.released = threading.Event(), threading.Event()
        self.address = ""

    def serve(self, file: SourceFile, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        """Answer requests for this file so."""
        self.answers[f"/{file.repository}/{file.path}"] = answer

    def hold(self) -> None:
        self.held.set()
        self.released.wait(BOUND)


def whole(content: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """A good answer with this content."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        head(handler, len(content))
        handler.wfile.write(content)

    return answer


def packed(content: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """The content as gzip, as the public host sends it."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = gzip.compress(content)
        head(handler, len(body), "gzip")
        handler.wfile.write(body)

    return answer


def half(content: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Half of the content, though all of it was promised."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        head(handler, len(content))
        handler.wfile.write(content[: len(content) // 2])

    return answer


def status(code: int) -> Callable[[BaseHTTPRequestHandler], None]:
    """An error of the server's."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_error(code, "secret words of the server")

    return answer


def head(handler: BaseHTTPRequestHandler, length: int, encoding: str | None = None) -> None:
    """Status 200 and the headers."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(length))
    if encoding:
        handler.send_header("Content-Encoding", encoding)
    handler.end_headers()


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """Serve until the block ends."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        timeout = BOUND

        def do_GET(self) -> None:
            server.asked.append(self.path)
            answer = server.answers.get(self.path, status(404))
            # A client that went away is what some tests are about.
            with contextlib.suppress(OSError):
                answer(self)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    server.address = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        http.server_close()
        thread.join(BOUND)


def closed_address() -> str:
    """An address of this machine where nobody listens."""
    with serving() as server:
        return server.address
