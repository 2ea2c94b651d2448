"""Python imports this module when it starts, as `exec --skip-waits` puts it on PYTHONPATH."""
import os
import sys

if sys.version_info >= (3, 9) and sys.implementation.name == 'cpython':
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    # time-machine patches functions written in C, and would crash on those in Python.
    is_patched = PathFinder.find_spec('time_machine') is not None
    has_lock = getattr(sys, '_is_gil_enabled', lambda: True)()
    if 'ADOPTION_STORE_VIRTUAL_TIME' in os.environ and has_lock and not is_patched:
        import skip_waits

        skip_waits.install()

    own = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path) != own]
    hidden = PathFinder.find_spec('sitecustomize', others)
    if hidden is not None:
        sys.modules['sitecustomize'] = module_from_spec(hidden)
        hidden.loader.exec_module(sys.modules['sitecustomize'])
