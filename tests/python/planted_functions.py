"""Functions for functions_test.py: right ones, wrong ones, and those that try to pass unseen."""

import ctypes
import os
import time

import numpy

import gla_bench

print("what a module prints while it is imported is no answer")


def plain(q, k, v, g, scale):
    """Right: the recurrence of the operator gla."""
    state = numpy.zeros((q.shape[0], q.shape[2], q.shape[3], v.shape[3]), numpy.float32)
    o = numpy.empty(v.shape, v.dtype)
    for t in range(q.shape[1]):
        state = state * numpy.exp(g[:, t])[..., None] + k[:, t][..., None] * v[:, t][..., None, :]
        o[:, t] = scale * numpy.einsum("bhk,bhkv->bhv", q[:, t], state)
    return o, state


@gla_bench.candidate(operator="gla", tile={"block": [1, 2]}, variant="writes_itself",
                     requires={"key_dim <= 64": "takes 64 keys at most"})
def writes_itself(q, k, v, g, scale, block, seq, o, final_state=None):
    """Right: it takes its outputs as arguments, and numbers besides."""
    assert block in (1, 2) and seq == q.shape[1]
    result, state = plain(q, k, v, g, scale)
    o[...] = result
    if final_state is not None:
        final_state[...] = state


def by_name(q, k, v, g, scale):
    """Right: it returns its outputs by name."""
    o, state = plain(q, k, v, g, scale)
    return {"final_state": state, "o": o, "more": None}


def decays_too_late(q, k, v, g, scale):
    """Wrong: the token's own key has decayed."""
    late = numpy.concatenate([numpy.zeros_like(g[:, :1]), g[:, :-1]], axis=1)
    return plain(q, k, v, late, scale)


def changes_inputs(q, k, v, g, scale):
    result = plain(q, k, v, g, scale)
    q[0, 0, 0, 0] += 1
    return result


def writes_beyond(q, k, v, g, scale, o, final_state=None):
    writes_itself(q, k, v, g, scale, 1, q.shape[1], o, final_state)
    ctypes.memset(o.ctypes.data + o.nbytes, 0, 64)


class _Lazy(numpy.ndarray):
    """An array that is computed when it is looked at."""


def is_lazy(q, k, v, g, scale):
    o, state = plain(q, k, v, g, scale)
    return o.view(_Lazy), state


def raises(q, k, v, g):
    raise KeyError("no such head")


def crashes(q, k, v, g):
    ctypes.string_at(0)


def ends_the_process(q, k, v, g):
    os._exit(0)


def hangs(q, k, v, g):
    while True:
        time.sleep(1)


def misses_tokens(q, k, v, g):
    return v[:, 1:], None


def is_float64(q, k, v, g, scale):
    o, state = plain(q, k, v, g, scale)
    return o.astype(numpy.float64), state


def returns_too_few(q, k, v, g):
    return (v,)


def leaves_memory(q, k, v, g, scale, o, final_state=None):
    """Wrong: it writes all but the last token."""
    result, state = plain(q, k, v, g, scale)
    o[:, :-1] = result[:, :-1]
    if final_state is not None:
        final_state[...] = state


def reaches_the_network(q, k, v, g, scale):
    import socket
    with socket.socket() as one:
        one.connect(("127.0.0.1", int(os.environ["PLANTED_PORT"])))
    return plain(q, k, v, g, scale)


def writes_a_file(q, k, v, g, scale):
    with open(os.path.join(os.path.dirname(__file__), "planted.txt"), "w") as file:
        file.write("here")
    return plain(q, k, v, g, scale)


def keeps_a_file_of_its_own(q, k, v, g, scale):
    """Right: the folder that TMPDIR names is its own."""
    import tempfile
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"here")
    return plain(q, k, v, g, scale)


def takes_all_memory(q, k, v, g, scale):
    numpy.full(1 << 46, 1, numpy.uint8)
    return plain(q, k, v, g, scale)


def mounts_again(q, k, v, g, scale):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/", None, 32 | 4096, None) != 0:  # MS_REMOUNT | MS_BIND
        raise PermissionError(ctypes.get_errno(), "mount")
    return plain(q, k, v, g, scale)
