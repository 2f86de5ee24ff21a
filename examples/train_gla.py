"""Trains a small language model of two GLA layers through gla_bench.ops, beside the same model in plain torch.

    python3 examples/train_gla.py --steps 300
    python3 examples/train_gla.py --device cuda --dtype bfloat16 --width 512 --seq 1024

The model predicts the next byte of the help texts that Python ships (pydoc_data.topics). Both models begin
with the same weights and see the same batches. In the one, gla runs through gla_bench.ops, forward and
backward; in the other it is the recurrence of its definition, token by token, in float32 by torch's autograd. The
losses stand side by side. The exit code is 1 where the last ones, means of 20 steps, differ by more than 2 %.
"""

import argparse
import copy
import pydoc_data.topics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from gla_bench import ops

HEADS, LOW_RANK, GATE_DIVISOR = 4, 16, 16.0
MOST_DIFFERENCE = 0.02
AVERAGED = 20


def by_definition(q, k, v, log_decay):
    """S = diag(exp(g)) S + k v^T, o = S^T q / sqrt(K), token by token in float32."""
    q, k, v, log_decay = (tensor.float() for tensor in (q, k, v, log_decay))
    state = q.new_zeros(q.size(0), q.size(2), q.size(3), v.size(3))
    outputs = []
    for t in range(q.size(1)):
        state = log_decay[:, t].exp()[..., None] * state + k[:, t][..., None] * v[:, t][..., None, :]
        outputs.append((q[:, t][..., None] * state).sum(-2))
    return torch.stack(outputs, 1) * q.size(3) ** -0.5


def by_ops(q, k, v, log_decay):
    return ops.gla(q, k, v, log_decay)[0]


class Layer(nn.Module):
    """x + GLA(x), then x + MLP(x)."""

    def __init__(self, width):
        super().__init__()
        self.before_gla, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.gate = nn.Sequential(nn.Linear(width, LOW_RANK, bias=False), nn.Linear(LOW_RANK, width))
        self.swish, self.out = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.of_head = nn.LayerNorm(width // HEADS)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, gla, dtype):
        heads = (*x.shape[:2], HEADS, x.size(2) // HEADS)
        h = self.before_gla(x)
        # Slices of one projection, which the kernels read where they lie.
        q, k, v = (part.view(heads) for part in self.qkv(h).to(dtype).chunk(3, -1))
        log_decay = (functional.logsigmoid(self.gate(h)) / GATE_DIVISOR).view(heads)
        o = self.of_head(gla(q, k, v, log_decay).to(x.dtype)).flatten(2)
        x = x + self.out(functional.silu(self.swish(h)) * o)
        return x + self.mlp(self.before_mlp(x))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(256, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(2))
        self.last = nn.LayerNorm(width)

    def forward(self, tokens, gla, dtype):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, gla, dtype)
        return functional.linear(self.last(x), self.embedding.weight) * x.size(-1) ** -0.5


class Trained:
    """A model with its optimiser, and the losses and seconds of its steps."""

    def __init__(self, model, gla, dtype, rate):
        self.model, self.gla, self.dtype = model, gla, dtype
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        self.losses, self.seconds = [], []

    def step(self, tokens):
        begin = time.perf_counter()
        logits = self.model(tokens[:, :-1], self.gla, self.dtype)
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())  # waits for the device
        self.seconds.append(time.perf_counter() - begin)

    def last_loss(self):
        last = self.losses[-AVERAGED:]
        return sum(last) / len(last)

    def median_ms(self):
        return 1e3 * sorted(self.seconds)[len(self.seconds) // 2]


def text():
    return torch.tensor(list("\n".join(pydoc_data.topics.topics.values()).encode()), dtype=torch.long)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--width", type=int, default=128, help=f"a multiple of {HEADS}")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"],
                        help="of q, k and v for gla_bench.ops")
    return parser.parse_args()


def check_kernels(chosen, dtype):
    """Shows the variants that will run, or says why there are none."""
    heads = (chosen.batch, chosen.seq, HEADS, chosen.width // HEADS)
    tensors = [torch.zeros(heads, dtype=dtype, device=chosen.device) for _ in range(3)]
    tensors.append(torch.zeros(heads, device=chosen.device))
    for direction in ("forward", "backward"):
        plan = ops.plan(ops.gla, *tensors, direction=direction)
        print(f"{direction}: {plan.variant} [{plan.backend}] on {plan.device}, tile {dict(plan.tile)}")


def main():
    chosen = arguments()
    dtype = getattr(torch, chosen.dtype)
    torch.manual_seed(0)
    try:
        check_kernels(chosen, dtype)
    except NotImplementedError as error:
        print(f"this model cannot be trained on {chosen.device}: {error}", file=sys.stderr)
        return 2
    corpus = text().to(chosen.device)
    model = Model(chosen.width).to(chosen.device)
    trained = {"gla_bench.ops": Trained(model, by_ops, dtype, chosen.rate),
               "plain torch": Trained(copy.deepcopy(model), by_definition, torch.float32, chosen.rate)}
    print(f"{len(corpus)} bytes of text, {sum(one.numel() for one in model.parameters())} weights")
    print(f"{'step':>6}" + "".join(f"{name:>16}" for name in trained))
    for step in range(chosen.steps):
        places = torch.randint(len(corpus) - chosen.seq - 1, (chosen.batch, 1), device=chosen.device)
        tokens = corpus[places + torch.arange(chosen.seq + 1, device=chosen.device)]
        for one in trained.values():
            one.step(tokens)
        if step % max(1, chosen.steps // 10) == 0 or step == chosen.steps - 1:
            print(f"{step:>6}" + "".join(f"{one.losses[-1]:>16.4f}" for one in trained.values()), flush=True)
    print("".join(f"{name}: loss {one.last_loss():.4f}, {one.median_ms():.1f} ms a step\n"
                  for name, one in trained.items()), end="")
    found, expected = (one.last_loss() for one in trained.values())
    return 0 if abs(found - expected) <= MOST_DIFFERENCE * expected else 1


if __name__ == "__main__":
    sys.exit(main())
