"""Loads what `perigee export` (or `perigee train --local --out`) wrote into a PyTorch module, by name.

    python3 load.py gpt weights.safetensors --shape 64 --classes 65
"""
import argparse
import json
import struct

import numpy
import torch

import models

TYPES = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64, "I32": numpy.int32}


def tensors(path):
    """A safetensors file: a length, a header in JSON, the bytes."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: torch.from_numpy(numpy.frombuffer(data[t["data_offsets"][0]:t["data_offsets"][1]],
                                                    TYPES[t["dtype"]]).reshape(t["shape"]).copy())
            for name, t in header.items()}


def load(module, path):
    """Every parameter and running statistic must be there; counters and buffers of the module stay its own."""
    found = tensors(path)
    missing, unexpected = module.load_state_dict(found, strict=False)
    wanted = [n for n, _ in module.named_parameters()] + [n for n in missing if "running" in n]
    lost = [n for n in missing if n in wanted]
    if lost or unexpected:
        raise SystemExit(f"missing {lost}, unexpected {unexpected}")
    return module


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("model", choices=sorted(models.MODELS))
    p.add_argument("file")
    p.add_argument("--shape", type=int, nargs="+", default=[3, 32, 32])
    p.add_argument("--classes", type=int, default=10)
    p.add_argument("--small", action="store_true")
    a = p.parse_args()
    module = load(models.MODELS[a.model](a.shape, a.classes, a.small), a.file)
    print(f"{sum(x.numel() for x in module.parameters())} parameters loaded into {a.model}")
