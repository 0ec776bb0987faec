"""Exports a model in training mode, as perigee reads it.

    python3 export.py resnet18 model.onnx --shape 3 32 32 --classes 10
    python3 export.py gpt model.onnx --shape 64 --classes 65

Then name the file in a job: [model] onnx = "model.onnx". An own module goes the same way: `export` below is all.
"""
import argparse

import torch

import models


def export(module, sample, path):
    """Parameters keep their names; the first dimension stays open, so that any micro-batch fits."""
    module.train()
    torch.onnx.export(module, sample, path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      opset_version=13, input_names=["input"], output_names=["logits"],
                      dynamic_axes={"input": {0: "N"}, "logits": {0: "N"}})


def sample_for(name, shape):
    if name in models.TEXT:
        return torch.zeros(2, shape[0], dtype=torch.long)
    return torch.randn(2, *shape)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("model", choices=sorted(models.MODELS))
    p.add_argument("file")
    p.add_argument("--shape", type=int, nargs="+", default=[3, 32, 32], help="C H W of images, or tokens of text")
    p.add_argument("--classes", type=int, default=10, help="or the size of the vocabulary")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--small", action="store_true")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    export(models.MODELS[a.model](a.shape, a.classes, a.small), sample_for(a.model, a.shape), a.file)
