"""Trains each model by perigee and by PyTorch from the same weights on the same data, and compares losses.

    python3 compare.py ../../build/release/perigee [MODEL…]

One mini-batch is the whole data set, so that the order of samples does not matter. Judge is PyTorch in f64: deep models
lead every f32 run astray where rounding turns a ReLU over, so ours may be twice as far off as PyTorch's own f32.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.nn.functional as F

import export
import load
import models

STEPS, COUNT, TOKENS, RATE = 10, 16, 16, 0.01


def job(data):
    return f"""steps = {STEPS}
mini_batch = {COUNT}
micro_batch = {COUNT}
[model]
onnx = "model.onnx"
[data]
{data}
[optimizer]
kind = "sgd"
learning_rate = {RATE}
momentum = 0.9
"""


def image_case(shape):
    g = numpy.random.default_rng(1)
    images = g.standard_normal((COUNT, *shape), dtype=numpy.float32)
    labels = numpy.arange(COUNT) % 10
    labels[0] = 9
    numpy.save("images.npy", numpy.ascontiguousarray(images.transpose(0, 2, 3, 1)))
    numpy.save("labels.npy", labels)
    data = 'kind = "npy"\npath = "images.npy"\nlabels = "labels.npy"'
    return torch.from_numpy(images), torch.from_numpy(labels), data


def text_case():
    text = ("the quick brown fox jumps over the lazy dog " * 2)[:COUNT + TOKENS]
    with open("text.txt", "w") as f:
        f.write(text)
    ids = torch.tensor([sorted(set(text)).index(c) for c in text])
    windows = torch.stack([ids[i:i + TOKENS] for i in range(COUNT)])
    targets = torch.stack([ids[i + 1:i + TOKENS + 1] for i in range(COUNT)])
    return windows, targets, len(set(text)), 'kind = "text"\npath = "text.txt"'


def train_by_pytorch(module, inputs, targets):
    optimizer = torch.optim.SGD(module.parameters(), RATE, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        logits = module(inputs)
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_by_perigee(perigee):
    done = subprocess.run([perigee, "train", "job.toml", "--local", "--json", "--out", "trained.safetensors"],
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return {e["step"] - 1: e["loss"] for e in events if "loss" in e}, ""


def compare(perigee, name):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    if name in models.TEXT:
        inputs, targets, classes, data = text_case()
        shape = (TOKENS,)
    else:
        shape, classes = (3, 16, 16), 10
        inputs, targets, data = image_case(shape)
    module = models.MODELS[name](shape, classes, True)
    export.export(module, inputs, "model.onnx")
    with open("job.toml", "w") as f:
        f.write(job(data))
    ours, why = train_by_perigee(perigee)
    if ours is None:
        return f"{name:<14} {why}", False
    exact = train_by_pytorch(copy.deepcopy(module).double(), inputs.double() if inputs.is_floating_point() else inputs, targets)
    theirs = train_by_pytorch(module, inputs, targets)
    off = max(abs(loss - exact[step]) / exact[step] for step, loss in ours.items())
    own = max(abs(a - b) / b for a, b in zip(theirs, exact))
    load.load(models.MODELS[name](shape, classes, True), "trained.safetensors")
    fine = STEPS - 1 in ours and off < max(1e-5, 2 * own)
    return f"{name:<14} loss {exact[0]:.4f} to {exact[-1]:.4f}; off by {off:.1e}, PyTorch's f32 by {own:.1e}", fine


if __name__ == "__main__":
    program = os.path.abspath(sys.argv[1])
    failed = 0
    for name in sys.argv[2:] or models.MODELS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            line, fine = compare(program, name)
            os.chdir("/")
        print(line if fine else f"{line}  DIFFERS", flush=True)
        failed += not fine
    sys.exit(failed > 0)
