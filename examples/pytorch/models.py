"""Models of the usual families in plain PyTorch, small enough to read: what export.py exports.

Each takes the shape of its data and returns a module; `small` makes it quick to check.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_norm(cin, cout, kernel=3, stride=1, groups=1, act=None):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
              nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


class Residual(nn.Module):
    """body(x) + x, with a projection where the shapes differ."""

    def __init__(self, body, cin, cout, stride, act=nn.ReLU):
        super().__init__()
        self.body = body
        same = stride == 1 and cin == cout
        self.down = nn.Identity() if same else conv_norm(cin, cout, 1, stride)
        self.act = act()

    def forward(self, x):
        return self.act(self.body(x) + self.down(x))


def basic(cin, cout, stride):
    return Residual(nn.Sequential(conv_norm(cin, cout, 3, stride, act=nn.ReLU),
                                  conv_norm(cout, cout)), cin, cout, stride)


def bottleneck(cin, cout, stride):
    mid = cout // 4
    return Residual(nn.Sequential(conv_norm(cin, mid, 1, act=nn.ReLU),
                                  conv_norm(mid, mid, 3, stride, act=nn.ReLU),
                                  conv_norm(mid, cout, 1)), cin, cout, stride)


def head(width, classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def resnet(shape, classes, block, depths, width, expansion):
    layers, cin = [conv_norm(shape[0], width, act=nn.ReLU)], width
    for i, depth in enumerate(depths):
        cout = width * 2 ** i * expansion
        for k in range(depth):
            layers.append(block(cin, cout, 2 if i and not k else 1))
            cin = cout
    return nn.Sequential(*layers, head(cin, classes))


def resnet18(shape, classes, small):
    return resnet(shape, classes, basic, (2, 2, 2, 2), 8 if small else 64, 1)


def resnet34(shape, classes, small):
    return resnet(shape, classes, basic, (3, 4, 6, 3), 8 if small else 64, 1)


def resnet50(shape, classes, small):
    return resnet(shape, classes, bottleneck, (3, 4, 6, 3), 8 if small else 64, 4)


def vgg(shape, classes, small):
    layers, cin = [], shape[0]
    for width, depth in ((8, 1), (16, 1), (32, 2)) if small else ((64, 1), (128, 1), (256, 2), (512, 2)):
        for _ in range(depth):
            layers += [nn.Conv2d(cin, width, 3, padding=1), nn.ReLU()]
            cin = width
        layers.append(nn.MaxPool2d(2))
    side = shape[1] // (8 if small else 16)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(cin * side * side, 64), nn.ReLU(), nn.Linear(64, classes))


class Inverted(nn.Module):
    """MobileNetV2's block; with squeeze and SiLU it is EfficientNet's."""

    def __init__(self, cin, cout, stride, expand, act=nn.ReLU6, squeeze=False):
        super().__init__()
        mid = cin * expand
        self.wide = conv_norm(cin, mid, 1, act=act) if expand > 1 else nn.Identity()
        self.deep = conv_norm(mid, mid, 3, stride, groups=mid, act=act)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(mid, max(1, cin // 4), 1), nn.SiLU(),
                                     nn.Conv2d(max(1, cin // 4), mid, 1), nn.Sigmoid()) if squeeze else None
        self.narrow = conv_norm(mid, cout, 1)
        self.skip = stride == 1 and cin == cout

    def forward(self, x):
        y = self.deep(self.wide(x))
        if self.squeeze is not None:
            y = y * self.squeeze(y)
        y = self.narrow(y)
        return x + y if self.skip else y


def inverted(shape, classes, small, act, squeeze):
    table = (((1, 16, 1, 1), (6, 24, 2, 2)) if small else
             ((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)))
    layers, cin = [conv_norm(shape[0], 16 if small else 32, act=act)], 16 if small else 32
    for expand, cout, depth, stride in table:
        for k in range(depth):
            layers.append(Inverted(cin, cout, stride if not k else 1, expand, act, squeeze))
            cin = cout
    last = 32 if small else 1280
    return nn.Sequential(*layers, conv_norm(cin, last, 1, act=act), head(last, classes))


def mobilenet_v2(shape, classes, small):
    return inverted(shape, classes, small, nn.ReLU6, False)


def efficientnet(shape, classes, small):
    return inverted(shape, classes, small, nn.SiLU, True)


class UNet(nn.Module):
    """Skips over a bottom that is reached and left by convolutions of one size, then a head."""

    def __init__(self, shape, classes, width):
        super().__init__()
        two = lambda a, b: nn.Sequential(conv_norm(a, b, act=nn.ReLU), conv_norm(b, b, act=nn.ReLU))
        self.down1, self.down2 = two(shape[0], width), two(width, 2 * width)
        self.bottom = two(2 * width, 2 * width)
        self.up2, self.up1 = two(4 * width, width), two(2 * width, width)
        self.head = head(width, classes)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(a)
        y = self.up2(torch.cat([self.bottom(b), b], 1))
        return self.head(self.up1(torch.cat([y, a], 1)))


def unet(shape, classes, small):
    return UNet(shape, classes, 4 if small else 32)


class Attention(nn.Module):
    """packed: q, k and v from one projection, as in GPT; else three, as in BERT."""

    def __init__(self, width, heads, tokens, causal, packed):
        super().__init__()
        self.heads, self.causal, self.packed = heads, causal, packed
        if packed:
            self.qkv = nn.Linear(width, 3 * width)
        else:
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        if causal:
            self.register_buffer("mask", torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1))

    def forward(self, x):
        B, T, C = x.shape
        parts = self.qkv(x).split(C, 2) if self.packed else (self.query(x), self.key(x), self.value(x))
        q, k, v = (p.view(B, T, self.heads, C // self.heads).transpose(1, 2) for p in parts)
        scores = q @ k.transpose(-2, -1) / math.sqrt(C // self.heads)
        if self.causal:
            scores = scores.masked_fill(self.mask, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, tokens, causal=False, packed=True, last_norm=False, tanh=False):
        super().__init__()
        self.last_norm, self.how = last_norm, "tanh" if tanh else "none"
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, tokens, causal, packed)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        mlp = lambda y: self.narrow(F.gelu(self.wide(y), approximate=self.how))
        if self.last_norm:
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + mlp(x))
        x = x + self.attention(self.norm1(x))
        return x + mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, shape, classes, width, depth, heads, patch):
        super().__init__()
        tokens = (shape[1] // patch) * (shape[2] // patch) + 1
        self.patches = nn.Conv2d(shape[0], width, patch, patch)
        self.cls = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.position = nn.Parameter(torch.randn(1, tokens, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, heads, tokens) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit(shape, classes, small):
    return ViT(shape, classes, 32, 2, 4, 8) if small else ViT(shape, classes, 192, 6, 3, 4)


class Bert(nn.Module):
    """Every token's own token is predicted from all tokens."""

    def __init__(self, tokens, vocabulary, width, depth, heads):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.register_buffer("place", torch.arange(tokens)[None])
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.Sequential(*[Block(width, heads, tokens, False, False, True) for _ in range(depth)])
        self.transform, self.last_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, ids):
        x = self.blocks(self.norm(self.words(ids) + self.positions(self.place)))
        return self.decoder(self.last_norm(F.gelu(self.transform(x))))


def bert_small(shape, classes, small):
    return Bert(shape[0], classes, 32, 2, 4) if small else Bert(shape[0], classes, 512, 4, 8)


class GPT(nn.Module):
    def __init__(self, tokens, vocabulary, width, depth, heads):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*[Block(width, heads, tokens, True, tanh=True) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def gpt(shape, classes, small):
    return GPT(shape[0], classes, 32, 2, 4) if small else GPT(shape[0], classes, 384, 6, 6)


def mlp(shape, classes, small):
    width = 32 if small else 512
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), width), nn.Hardswish(), nn.Dropout(0.0),
                         nn.Linear(width, width), nn.SiLU(), nn.Linear(width, classes))


TEXT = ("bert_small", "gpt")
MODELS = {f.__name__: f for f in (mlp, vgg, resnet18, resnet34, resnet50, mobilenet_v2, efficientnet, unet, vit,
                                  bert_small, gpt)}
