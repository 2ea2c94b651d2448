"""Virtual time in a Python process, for `exec --skip-waits`.

The store skips time while all threads of all its clients wait. A thread waits if it is in `wait`
below, and nothing has ended that wait yet. Any other thread counts as running, such as one in a C
library or in a call to another service, and then time passes as usual.
"""
import collections
import contextlib
import functools
import gc
import json
import math
import os
import queue
import selectors
import socket
import sys
import threading
import time
import weakref
from _socket import socket as PlainSocket
from _thread import allocate_lock, get_ident
from datetime import date, datetime, timezone
from urllib.parse import urlsplit

PORT, TOKEN, AHEAD = os.environ['ADOPTION_STORE_VIRTUAL_TIME'].split(':')
STORE_PORT = urlsplit(os.environ.get('ADOPTION_STORE_BASE_URL', '')).port

# In seconds: how soon a waiting thread sees that time was skipped, after and before the first call.
SLICE, IDLE_SLICE = 0.002, 0.05
AWAKE = {'awake': True}

# Threads in which a worker of pytest-xdist receives tests, and a pool replaces its threads.
IDLE = {('execnet.gateway_base', 'read'), ('multiprocessing.pool', '_handle_workers')}

real = {name: function for name, function in vars(time).items() if callable(function)}
real_join = threading.Thread.join
real_select = selectors.DefaultSelector.select

# By thread: when its wait ends, by the monotonic clock and by that of the store, and `is_blocked`.
waits = {}
# By socket to the store: local port, bytes sent, bytes received.
connections = weakref.WeakKeyDictionary()


class Clock:
    """Adds to the clocks of the system. All values are in nanoseconds."""

    ahead = int(AHEAD) * 1_000_000
    # In this run, and the part before this process called the store, which ends no wait of it.
    skipped = missed = 0

    def wall(self):
        return real['time_ns']() + self.ahead + self.skipped

    def steady(self, name='monotonic_ns'):
        return real[name]() + self.skipped - self.missed

    def shown(self, seconds=None):
        return self.wall() / 1e9 if seconds is None else seconds


class Coordinator:
    """The connection to the store's clock, from the first call to the store on."""

    link, received, told, ports = None, b'', None, []
    lock, version = allocate_lock(), None

    def register(self):
        with self.lock:
            if self.link is not None:
                return
            skipped = clock.skipped
            try:
                link = PlainSocket()
                link.connect(('127.0.0.1', int(PORT)))
                link.sendall(TOKEN.encode() + b'\n')
                self.received, self.told = link.recv(4096), None
                link.settimeout(0)
                self.link = link
                self.hear()
            except OSError:
                self.link = None
            clock.missed += clock.skipped - skipped

    def changed(self):
        """A thread begins or ends a wait, so what `state` has just seen is no longer true."""
        self.version = object()

    def tell(self):
        """Tells the store what has changed, after hearing if it has skipped time."""
        # Not forever, as a finalizer may run, and wait, anywhere below.
        if self.link is None or not self.lock.acquire(True, 0.1):
            return
        try:
            self.hear()
            while self.ports:
                self.send({'port': self.ports.pop()})
            version = self.version
            message = state()
            self.send(message if version is self.version else AWAKE)
        except OSError:
            self.link = None
        finally:
            self.lock.release()

    def hear(self):
        with contextlib.suppress(BlockingIOError):
            while chunk := self.link.recv(4096):
                self.received += chunk
            raise ConnectionError
        *lines, self.received = self.received.split(b'\n')
        for line in lines:
            clock.skipped = max(clock.skipped, int(json.loads(line)['skipped'] * 1_000_000))

    def send(self, message):
        line = json.dumps(message).encode() + b'\n'
        if line != self.told:
            self.told = line
            self.link.sendall(line)

    def forget(self):
        """A forked process begins anew."""
        if self.link is not None:
            self.link.close()
        self.link, self.lock, self.ports = None, allocate_lock(), []
        waits.clear()
        connections.clear()


clock, coordinator = Clock(), Coordinator()


def wait(seconds, is_blocked, attempt):
    """Calls attempt(seconds) until it returns something true, or the time limit is over.

    `is_blocked` is false as soon as another thread, or the store, has let the attempt succeed.
    """
    limit = math.inf if seconds is None else math.ceil(seconds * 1e9)
    ends, me = clock.steady() + limit, get_ident()
    try:
        waits[me] = ends, clock.wall() - clock.missed + limit, is_blocked
        coordinator.changed()
        while True:
            left = max(0, ends - clock.steady()) / 1e9
            done = attempt(min(left, IDLE_SLICE if coordinator.link is None else SLICE))
            if done or left == 0:
                return done
            coordinator.tell()
    finally:
        waits.pop(me, None)
        coordinator.changed()
        coordinator.tell()


def state():
    """Tells when the first thread wakes up, and what the connections to the store have carried."""
    now, wakes = clock.steady(), math.inf
    # Threads that are being started are not among the frames yet.
    if threading._limbo:
        return AWAKE
    for thread, frame in sys._current_frames().items():
        idle = math.inf, math.inf, functools.partial(is_idle, frame)
        ends, wakes_at, is_blocked = waits.get(thread, idle)
        if ends <= now or not is_blocked():
            return AWAKE
        wakes = min(wakes, wakes_at)
    return {
        'sleep': None if wakes == math.inf else math.ceil((wakes + clock.missed) / 1_000_000),
        'connections': [counts for socket, counts in opened() if socket.fileno() != -1],
        'skipped': clock.skipped / 1_000_000,
    }


def opened():
    """Copies, as other threads connect meanwhile."""
    while True:
        try:
            return [(link, counts) for key, counts in connections.data.copy().items() if (link := key())]
        except RuntimeError:
            # The garbage collector may remove a connection during `copy`, whose result is then inconsistent.
            continue


def is_idle(frame):
    while frame and (frame.f_globals.get('__name__'), frame.f_code.co_name) not in IDLE:
        frame = frame.f_back
    return frame is not None


def sleep(seconds):
    caller = sys._getframe(1).f_back
    # subprocess sleeps again and again while another process works, which takes real time.
    if not seconds > SLICE or caller and caller.f_globals.get('__name__') == 'subprocess':
        return real['sleep'](seconds)
    wait(seconds, lambda: True, real['sleep'])


def select(self, timeout=None):
    ready = real_select(self, 0)
    if ready or (timeout is not None and timeout <= 0):
        return ready
    if not all(map(is_known, self.get_map().values())):
        return real_select(self, timeout)
    attempt = functools.partial(real_select, self)
    return wait(timeout, lambda: not attempt(0), attempt)


def is_known(key):
    """True for a connection to the store, and for the pipe through which threads wake asyncio."""
    reader = key.data[0] if isinstance(key.data, tuple) else None
    callback = getattr(reader, '_callback', None)
    is_pipe = getattr(callback, '__name__', '') == '_read_from_self'
    return is_pipe or any(link.fileno() == key.fd for link, _ in opened())


def join(self, timeout=None):
    if timeout is not None and timeout <= 0:
        return real_join(self, timeout)
    wait(timeout, self.is_alive, lambda seconds: real_join(self, seconds) or not self.is_alive())


class Taken:
    """Something that one thread gives and another one takes."""

    given = 0

    def wait(self, seconds, take):
        seen = None

        def attempt(slice):
            nonlocal seen
            given = self.given
            if taken := take(0):
                return taken
            # Nothing was there after `given` was read: until it changes, nothing can be taken.
            seen = given
            return take(slice)

        return wait(seconds, lambda: self.given == seen, attempt)


class Lock(Taken):
    """threading.Lock, of which Condition, Event, Semaphore, Queue and Future are made."""

    def __init__(self):
        self._lock = allocate_lock()
        self.locked = self._lock.locked
        self._at_fork_reinit = self._lock._at_fork_reinit

    def acquire(self, blocking=True, timeout=-1):
        if not blocking or -1 != timeout <= 0:
            return self._lock.acquire(blocking, timeout)
        if self._lock.acquire(False):
            return True
        take = functools.partial(self._lock.acquire, True)
        return self.wait(None if timeout == -1 else timeout, take)

    def release(self):
        self.given += 1
        self._lock.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


class SimpleQueue(Taken, queue.SimpleQueue):
    """The queue of thread pools. Before Python 3.13, its own `get` may miss its time limit."""

    def __init__(self):
        self._takers = collections.deque()

    def put(self, item, block=True, timeout=None):
        self.given += 1
        super().put(item)
        with contextlib.suppress(IndexError):
            self._takers.popleft().release()

    put_nowait = put

    def get(self, block=True, timeout=None):
        if not block or (timeout is not None and timeout <= 0):
            return super().get(block, timeout)
        if taken := self.wait(timeout, self._take):
            return taken[0]
        raise queue.Empty

    def _take(self, seconds):
        if seconds > 0:
            taker = allocate_lock()
            taker.acquire()
            self._takers.append(taker)
            if self.empty():
                taker.acquire(True, seconds)
            with contextlib.suppress(ValueError):
                self._takers.remove(taker)
        with contextlib.suppress(queue.Empty):
            return [super().get(False)]


def connecting(method):
    @functools.wraps(method)
    def connect(self, address):
        is_store = isinstance(address, tuple) and address[1] == STORE_PORT
        if is_store:
            coordinator.register()
        try:
            return method(self, address)
        finally:
            if is_store:
                port = self.getsockname()[1]
                connections[self] = [port, 0, 0]
                coordinator.ports.append(port)
                coordinator.tell()

    return connect


def sending(method):
    @functools.wraps(method)
    def send(self, data, *rest):
        sent = method(self, data, *rest)
        if self in connections:
            connections[self][1] += memoryview(data).nbytes if sent is None else sent
        return sent

    return send


def receiving(method):
    @functools.wraps(method)
    def receive(self, *args):
        counts = connections.get(self)
        if counts is None:
            return method(self, *args)
        if self.gettimeout() != 0:
            with selectors.DefaultSelector() as selector:
                selector.register(self, selectors.EVENT_READ)
                if not selector.select(self.gettimeout()):
                    raise socket.timeout('timed out')
        received = method(self, *args)
        counts[2] += received if isinstance(received, int) else len(received)
        return received

    return receive


class Function:
    """Like a function written in C: it does not become a method of a class, and pickles by name."""

    def __init__(self, replaced, run):
        functools.update_wrapper(self, replaced)
        self.run = run

    def __call__(self, *args):
        return self.run(*args)

    def __reduce__(self):
        return self.__name__


def install():
    functions = {
        'sleep': sleep,
        'time': lambda: clock.wall() / 1e9,
        'time_ns': clock.wall,
        'monotonic': lambda: clock.steady() / 1e9,
        'monotonic_ns': clock.steady,
        'perf_counter': lambda: clock.steady('perf_counter_ns') / 1e9,
        'perf_counter_ns': lambda: clock.steady('perf_counter_ns'),
        'gmtime': lambda seconds=None: real['gmtime'](clock.shown(seconds)),
        'localtime': lambda seconds=None: real['localtime'](clock.shown(seconds)),
        'ctime': lambda seconds=None: real['ctime'](clock.shown(seconds)),
        'asctime': lambda *shown: real['asctime'](*shown or [time.localtime()]),
        'strftime': lambda form, *shown: real['strftime'](form, *shown or [time.localtime()]),
    }
    replaced = {id(real[name]): Function(real[name], run) for name, run in functions.items()}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, '__dict__', {}).items()):
            if id(value) in replaced:
                setattr(module, name, replaced[id(value)])
    at = gc.get_referents(datetime.__dict__)[0]['fromtimestamp']
    now = lambda cls, tz=None: at.__get__(None, cls)(clock.shown(), tz)
    for kind, name, function in (
        (date, 'today', lambda cls: cls.fromtimestamp(time.time())),
        (datetime, 'now', now),
        (datetime, 'utcnow', lambda cls: now(cls, timezone.utc).replace(tzinfo=None)),
    ):
        # The type stays the same, as C libraries know it.
        methods = gc.get_referents(kind.__dict__)[0]
        real[name], methods[name] = methods[name], classmethod(function)
    getattr(sys, '_clear_type_cache', lambda: None)()
    for counted, names in (
        (connecting, ('connect', 'connect_ex')),
        (sending, ('send', 'sendall', 'sendmsg')),
        (receiving, ('recv', 'recv_into')),
    ):
        for name in names:
            if hasattr(PlainSocket, name):
                setattr(socket.socket, name, counted(getattr(PlainSocket, name)))
    selectors.DefaultSelector.select = select
    threading.Thread.join = join
    threading.Lock = threading._allocate_lock = Lock
    queue.SimpleQueue = SimpleQueue
    if hasattr(os, 'register_at_fork'):
        os.register_at_fork(after_in_child=coordinator.forget)
