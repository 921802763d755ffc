#!/usr/bin/env python3
"""Trains the small GPT-2 that comes with gpt2.cpp and writes it as a HuggingFace directory in F16.

The model writes stories for children. It has exactly GPT-2's architecture, with n_embd 256,
n_layer 6, n_head 4 (head size 64, as in GPT-2) and n_positions 512. Its tokenizer is a byte-level
BPE of its own with 4,096 tokens.

The data lies under --text (models/README.md has the sources and licences):
  tinystories/combined_dedup.txt     TinyStories; every 40th story is held out
  storybooks/*/all.txt               African Storybook and Pratham Books, in English
The documents of a file are separated by <|endoftext|>.

Usage:
  train_bundled_model.py --text DIR --out models/gpt2-stories [--steps N --cooldown N] [--resume]

Needs PyTorch, numpy and regex (Debian: python3-torch python3-numpy python3-regex). By default,
training takes about half an hour on two idle cores with AVX512-BF16; more steps give better
stories. The state of training is kept in --work, for --resume. A seed fixes the initial weights and
the order of the data. Sums of floats still depend on the machine, so a new run gives other bits.
"""

import argparse
import collections
import ctypes
import glob
import heapq
import json
import math
import os
import random
import struct
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads sleep: others may need the cores

import numpy as np
import regex
import torch
import torch.nn as nn
import torch.nn.functional as F

END_OF_TEXT = "<|endoftext|>"
SEED = 1337


# ------------------------------------------------------------------------------------ tokenizer

# GPT-2's pattern. BPE never merges across the pieces that it finds.
SPLIT = regex.compile(
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")


def byte_alphabet():
    """Returns GPT-2's printable character of each byte, in the order of the first 256 token ids."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    alphabet = {b: chr(b) for b in printable}
    alphabet.update({b: chr(256 + n) for n, b in enumerate(others)})
    return alphabet


class Tokenizer:
    """Byte-level BPE. The ids are the 256 bytes, the merges in rank order, and <|endoftext|>."""

    def __init__(self, merges):
        alphabet = byte_alphabet()
        self.byte_id = {b: i for i, b in enumerate(alphabet)}
        self.tokens = list(alphabet.values())           # id -> printable form
        self.bytes = [bytes([b]) for b in alphabet]      # id -> bytes
        self.merges = merges                             # rank -> (left id, right id)
        for left, right in merges:
            self.tokens.append(self.tokens[left] + self.tokens[right])
            self.bytes.append(self.bytes[left] + self.bytes[right])
        self.end_of_text = len(self.tokens)
        self.tokens.append(END_OF_TEXT)
        self.bytes.append(END_OF_TEXT.encode())
        self.merged_id = {pair: 256 + rank for rank, pair in enumerate(merges)}
        self.cache = {}

    @staticmethod
    def train(texts, vocab_size):
        """Merges the most frequent pair until there are vocab_size tokens.

        Of equally frequent pairs, the one with the lower ids comes first. Training works on the
        distinct pieces and their counts. A merge visits only the pieces that contain the pair. The
        heap may contain outdated counts, which are corrected when they are popped.
        """
        pieces = collections.Counter(p for text in texts for p in SPLIT.findall(text))
        byte_id = Tokenizer([]).byte_id
        words = [[byte_id[b] for b in piece.encode()] for piece in pieces]
        weights = list(pieces.values())

        counts = collections.Counter()
        where = collections.defaultdict(set)             # pair -> the words that contain it
        for i, word in enumerate(words):
            for pair in zip(word, word[1:]):
                counts[pair] += weights[i]
                where[pair].add(i)
        heap = [(-count, pair) for pair, count in counts.items()]
        heapq.heapify(heap)

        merges = []
        while len(merges) < vocab_size - 257:
            count, best = heapq.heappop(heap)
            if -count != counts[best]:
                if counts[best] > 0:
                    heapq.heappush(heap, (-counts[best], best))
                continue
            new_id = 256 + len(merges)
            merges.append(best)
            touched = set()
            for i in where.pop(best):
                old = words[i]
                words[i] = new = merge(old, best, new_id)
                for pair in zip(old, old[1:]):
                    counts[pair] -= weights[i]
                for pair in zip(new, new[1:]):
                    counts[pair] += weights[i]
                    where[pair].add(i)
                    touched.add(pair)
            for pair in touched:
                heapq.heappush(heap, (-counts[pair], pair))
        return Tokenizer(merges)

    def encode(self, text):
        return [i for piece in SPLIT.findall(text) for i in self.encode_piece(piece)]

    def encode_piece(self, piece):
        ids = self.cache.get(piece)
        if ids is None:
            ids = [self.byte_id[b] for b in piece.encode()]
            while len(ids) > 1:
                pair = min(zip(ids, ids[1:]), key=lambda p: self.merged_id.get(p, math.inf))
                if pair not in self.merged_id:
                    break
                ids = merge(ids, pair, self.merged_id[pair])
            self.cache[piece] = ids
        return ids

    def decode(self, ids):
        return b"".join(self.bytes[i] for i in ids).decode("utf-8", errors="replace")


def merge(ids, pair, new_id):
    """Returns the ids with every occurrence of `pair`, from the left, replaced by new_id."""
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


# ----------------------------------------------------------------------------------------- data

def read_documents(path):
    with open(path, encoding="utf-8-sig") as f:
        return [d.strip() for d in f.read().split(END_OF_TEXT) if d.strip()]


def clean(paragraphs):
    """Returns the text with one paragraph a line, plain quotes and single spaces."""
    text = "\n".join(" ".join(p.split()) for p in paragraphs)
    text = regex.sub("[\u201c\u201d]", '"', regex.sub("[\u2018\u2019]", "'", text))
    text = regex.sub(r"[\uFEFF\u200B\u2060\uFFFD]", "", text).replace("\u2026", "...")
    return regex.sub(r"\n\s*", "\n", text).strip()


def load_stories(root):
    """Returns TinyStories as (training, held out), without stories that the source cut off."""
    path = f"{root}/tinystories/combined_dedup.txt"
    stories = [clean(d.split("\n")) for d in read_documents(path)]
    stories = [s for s in stories if len(s) >= 150 and s[-1] in ".!?\"'"]
    return [s for i, s in enumerate(stories) if i % 40], stories[::40]


def load_storybooks(root):
    """Returns the text of each storybook without its first paragraph, which is the title."""
    books = [d for path in sorted(glob.glob(f"{root}/storybooks/*/all.txt"))
             for d in read_documents(path)]
    books = [clean(d.split("\n\n")[1:]) for d in books]
    return [b for b in books if len(b) >= 150]


class Corpus:
    """Rows of n + 1 tokens from documents that are shuffled again for every pass.

    Half of the rows are moved to the nearest beginning of a document. Half of these begin with the
    <|endoftext|> before the document, the others right after it. So the model learns which tokens
    may stand at position 0.
    """

    def __init__(self, documents, tokenizer, seed):
        self.documents = [np.array(tokenizer.encode(d), np.int64) for d in documents]
        self.separator = np.array([tokenizer.end_of_text])
        self.n_tokens = sum(len(d) + 1 for d in self.documents)
        self.seed = seed
        self.passes = 0
        self.row = 0
        self.starts = ()

    def shuffle(self, n):
        rng = np.random.default_rng([self.seed, self.passes])
        order = rng.permutation(len(self.documents))
        self.stream = np.concatenate(
            [part for i in order for part in (self.separator, self.documents[i])])
        begins = np.flatnonzero(self.stream == self.separator)
        last = len(self.stream) - n - 1
        starts = np.arange(rng.integers(n), last, n)
        nearest = begins[np.abs(begins[None, :] - starts[:, None]).argmin(1)]
        nearest = np.minimum(nearest + rng.integers(0, 2, len(starts)), last)
        move = (rng.random(len(starts)) < 0.5) & (np.abs(nearest - starts) < n)
        self.starts = rng.permutation(np.where(move, nearest, starts))

    def next_row(self, n):
        if self.row == len(self.starts):
            self.passes += len(self.starts) > 0
            self.row = 0
            self.shuffle(n)
        start = self.starts[self.row]
        self.row += 1
        return self.stream[start:start + n + 1]

    def restore(self, passes, row, n):
        self.passes, self.row = passes, row
        self.shuffle(n)


# ---------------------------------------------------------------------------------------- model

class Config:
    vocab_size = 4096
    n_positions = 512
    n_embd = 256
    n_layer = 6
    n_head = 4
    layer_norm_epsilon = 1e-5


class FastGelu(torch.autograd.Function):
    """gelu_new for training. As 0.5 (1 + tanh(u)) = sigmoid(2u), it costs a third of F.gelu."""

    SCALE = 2 * math.sqrt(2 / math.pi)
    CUBIC = 0.044715

    @staticmethod
    def forward(ctx, x):
        gate = (x * x).mul_(FastGelu.CUBIC).add_(1).mul_(x).mul_(FastGelu.SCALE).sigmoid_()
        y = x * gate
        ctx.save_for_backward(x, gate, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, gate, y = ctx.saved_tensors
        slope = (x * x).mul_(3 * FastGelu.CUBIC).add_(1).mul_(FastGelu.SCALE)
        return (1 - gate).mul_(y).mul_(slope).add_(gate).mul_(dy)


class Conv1D(nn.Module):
    """A linear layer whose weight is (n_in, n_out), as GPT-2 stores it."""

    def __init__(self, n_in, n_out, std=0.02):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) * std)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n_head = c.n_head
        self.c_attn = Conv1D(c.n_embd, 3 * c.n_embd)
        self.c_proj = Conv1D(c.n_embd, c.n_embd, std=0.02 / math.sqrt(2 * c.n_layer))
        future = torch.full((c.n_positions, c.n_positions), -math.inf).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x):
        B, T, C = x.shape
        D = C // self.n_head
        q, k, v = self.c_attn(x).view(B, T, 3, self.n_head, D).permute(2, 0, 3, 1, 4)
        with torch.autocast("cpu", enabled=False):       # keeps the scores in bf16 if x is
            q = (q / math.sqrt(D)).reshape(-1, T, D)
            k, v = k.reshape(-1, T, D), v.reshape(-1, T, D)
            scores = torch.baddbmm(self.future[:T, :T].to(q.dtype), q, k.transpose(1, 2))
            y = torch.bmm(scores.softmax(-1), v)
        return self.c_proj(y.view(B, self.n_head, T, D).transpose(1, 2).reshape(B, T, C))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c_fc = Conv1D(c.n_embd, 4 * c.n_embd)
        self.c_proj = Conv1D(4 * c.n_embd, c.n_embd, std=0.02 / math.sqrt(2 * c.n_layer))

    def forward(self, x):
        h = self.c_fc(x)
        return self.c_proj(FastGelu.apply(h) if self.training else F.gelu(h, approximate="tanh"))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c.n_embd, eps=c.layer_norm_epsilon)
        self.attn = Attention(c)
        self.ln_2 = nn.LayerNorm(c.n_embd, eps=c.layer_norm_epsilon)
        self.mlp = FeedForward(c)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT2(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        self.wpe = nn.Embedding(c.n_positions, c.n_embd)
        self.h = nn.ModuleList(Block(c) for _ in range(c.n_layer))
        self.ln_f = nn.LayerNorm(c.n_embd, eps=c.layer_norm_epsilon)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.01)

    def forward(self, ids):                              # (B, T) -> (B, T, vocab_size)
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


# ------------------------------------------------------------------------------------- training

class Muon(torch.optim.Optimizer):
    """Momentum with orthogonalized steps (Jordan et al. 2024), for the matrices of the blocks."""

    def __init__(self, params, lr, weight_decay, momentum=0.95):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                average = state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(average, group["momentum"])
                n_in, n_out = p.shape
                parts = update.split(n_in, 1) if n_out == 3 * n_in else (update,)  # q, k and v
                update = torch.cat([self.orthogonal(part) for part in parts], 1)
                scale = math.sqrt(max(1, n_out / n_in)) if len(parts) == 1 else 1
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * scale)

    @staticmethod
    def orthogonal(g, steps=5):
        """Returns roughly the nearest orthogonal matrix, with singular values from 0.7 to 1.2."""
        x = (g / (g.norm() + 1e-7)).bfloat16()
        tall = x.shape[0] > x.shape[1]
        x = x.t() if tall else x
        for _ in range(steps):
            a = x @ x.t()
            b = -4.7750 * a + 2.0315 * (a @ a)
            x = 3.4445 * x + b @ x
        return (x.t() if tall else x).float()


class Trainer:
    """Trains at a constant learning rate, and then in a cooldown with a rate that falls to zero.

    The rate falls linearly. Until the cooldown begins, --steps may still be changed. At first, rows
    are only half as long as the context, because that is faster.
    """

    MIXTURE = dict(stories=0.93, storybooks=0.07)        # shares of the rows
    BATCH = 4096                                         # tokens a step
    WARMUP = 100                                         # steps

    def __init__(self, args, corpora):
        self.args, self.corpora = args, corpora
        torch.manual_seed(SEED)
        self.model = GPT2(Config)
        matrices = [p for p in self.model.h.parameters() if p.ndim == 2]
        tables = [self.model.wte.weight, self.model.wpe.weight]
        vectors = [p for p in self.model.parameters() if p.ndim == 1]
        adam = [dict(params=tables, weight_decay=args.weight_decay),
                dict(params=vectors, weight_decay=0.0)]
        if args.muon_lr > 0:
            decay = args.weight_decay * args.lr / args.muon_lr   # the same decay per step
            self.optimizers = [Muon(matrices, args.muon_lr, decay)]
        else:
            self.optimizers = []
            adam.append(dict(params=matrices, weight_decay=args.weight_decay))
        self.optimizers.append(
            torch.optim.AdamW(adam, lr=args.lr, betas=(0.9, 0.95), foreach=False))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["peak_lr"] = group["lr"]
        self.step = 0

    def rate(self):
        """Returns the learning rate of this step as a fraction of the peak."""
        left = (self.args.steps - self.step) / max(1, self.args.cooldown)
        return min(1.0, (self.step + 1) / self.WARMUP, left)

    def batch(self):
        """Returns inputs and targets, each (rows, n)."""
        n = Config.n_positions
        names = random.Random(SEED + self.step).choices(
            list(self.MIXTURE), list(self.MIXTURE.values()), k=self.BATCH // n)
        rows = torch.from_numpy(np.stack([self.corpora[name].next_row(n) for name in names]))
        n = n if self.step >= self.args.steps - self.args.long_rows else n // 2
        return rows[:, :-1].reshape(-1, n), rows[:, 1:].reshape(-1, n)

    def train_step(self):
        x, y = self.batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
        loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * self.rate()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return loss.item()

    def save(self, path):
        torch.save(dict(model=self.model.state_dict(), step=self.step,
                        optimizers=[o.state_dict() for o in self.optimizers],
                        corpora={k: (c.passes, c.row) for k, c in self.corpora.items()}),
                   path + ".new")
        os.replace(path + ".new", path)

    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        for name, (passes, row) in state["corpora"].items():
            self.corpora[name].restore(passes, row, Config.n_positions)
        self.step = state["step"]


def run(args):
    # Keep freed memory in the process, because page faults cost 25 %.
    ctypes.CDLL(None).mallopt(-4, 0)                     # M_MMAP_MAX
    ctypes.CDLL(None).mallopt(-1, 2**31 - 1)             # M_TRIM_THRESHOLD
    torch.set_num_threads(args.threads)
    os.makedirs(args.work, exist_ok=True)
    state_path = f"{args.work}/state.pt"

    train, held_out = load_stories(args.text)
    texts = dict(stories=train, storybooks=load_storybooks(args.text))
    tokenizer = Tokenizer.train([t for some in texts.values() for t in some], Config.vocab_size)
    corpora = {k: Corpus(v, tokenizer, SEED + i) for i, (k, v) in enumerate(texts.items())}
    for name, corpus in corpora.items():
        print(f"{name}: {len(corpus.documents)} documents, {corpus.n_tokens} tokens", flush=True)

    trainer = Trainer(args, corpora)
    if args.resume:
        trainer.load(state_path)
    n_params = sum(p.numel() for p in trainer.model.parameters())
    print(f"{n_params} parameters, {len(held_out)} held-out stories", flush=True)

    losses, start, last_step = [], time.time(), trainer.step
    while trainer.step < args.steps:
        losses.append(trainer.train_step())
        if trainer.step % 25 == 0:
            speed = (trainer.step - last_step) * trainer.BATCH / (time.time() - start)
            print(f"step {trainer.step}/{args.steps} loss {np.mean(losses):.4f} "
                  f"rate {trainer.rate():.3f} {speed:.0f} tokens/s", flush=True)
            losses, start, last_step = [], time.time(), trainer.step
        if trainer.step % args.save_every == 0 or trainer.step == args.steps:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                nats, _, _ = evaluate(trainer.model, tokenizer, held_out[:args.eval_stories])
            print(f"step {trainer.step} held-out loss {nats:.4f} perplexity {math.exp(nats):.3f} "
                  f"passes {[c.passes for c in corpora.values()]}", flush=True)
            trainer.save(state_path)
            export(trainer.model, tokenizer, args.out)

    export(trainer.model, tokenizer, args.out)
    report(trainer.model, tokenizer, held_out, args.out)


# --------------------------------------------------------------------------------------- export

def write_safetensors(path, tensors):
    """Writes a safetensors file. `tensors` maps names to F16 tensors.

    The file has the size of the header as a u64, a JSON header padded to a multiple of 8 bytes, and
    the data.
    """
    header, data, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name in sorted(tensors):
        raw = tensors[name].contiguous().numpy().tobytes()
        header[name] = dict(dtype="F16", shape=list(tensors[name].shape),
                            data_offsets=[offset, offset + len(raw)])
        data.append(raw)
        offset += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_file(path, struct.pack("<Q", len(text)) + text + b"".join(data))


def write_json(path, value, indent=2):
    write_file(path, (json.dumps(value, indent=indent, ensure_ascii=False) + "\n").encode())


def write_file(path, data):
    """Replaces a file as a whole, so that a reader sees the old file or the new one."""
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.replace(path + ".new", path)


def export(model, tokenizer, out):
    os.makedirs(out, exist_ok=True)
    end = tokenizer.end_of_text
    write_safetensors(f"{out}/model.safetensors",
                      {"transformer." + k: v.half() for k, v in model.state_dict().items()})
    write_json(f"{out}/config.json", {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.0,
        "bos_token_id": end,
        "embd_pdrop": 0.0,
        "eos_token_id": end,
        "initializer_range": 0.02,
        "layer_norm_epsilon": Config.layer_norm_epsilon,
        "model_type": "gpt2",
        "n_embd": Config.n_embd,
        "n_head": Config.n_head,
        "n_inner": None,
        "n_layer": Config.n_layer,
        "n_positions": Config.n_positions,
        "reorder_and_upcast_attn": False,
        "resid_pdrop": 0.0,
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        "use_cache": True,
        "vocab_size": Config.vocab_size,
    })
    write_json(f"{out}/generation_config.json",
               {"_from_model_config": True, "bos_token_id": end, "eos_token_id": end})
    write_json(f"{out}/tokenizer_config.json", {
        "add_prefix_space": False,
        "bos_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "eos_token": END_OF_TEXT,
        "model_max_length": Config.n_positions,
        "tokenizer_class": "GPT2Tokenizer",
        "unk_token": END_OF_TEXT,
    })
    write_json(f"{out}/special_tokens_map.json",
               {"bos_token": END_OF_TEXT, "eos_token": END_OF_TEXT, "unk_token": END_OF_TEXT})
    write_json(f"{out}/vocab.json", {t: i for i, t in enumerate(tokenizer.tokens)}, indent=None)
    merges = [f"{tokenizer.tokens[a]} {tokenizer.tokens[b]}" for a, b in tokenizer.merges]
    write_file(f"{out}/merges.txt", ("\n".join(["#version: 0.2", *merges]) + "\n").encode())


# --------------------------------------------------------------------- sample, perplexity, report

@torch.no_grad()
def evaluate(model, tokenizer, stories):
    """Returns nats per token, the number of tokens, and the total of nats.

    Each story is evaluated alone, as <|endoftext|> story <|endoftext|>. Every token after the first
    one counts, up to n_positions of them.
    """
    model.eval()
    end, n = tokenizer.end_of_text, Config.n_positions
    rows = sorted(([end, *tokenizer.encode(s), end][:n + 1] for s in stories), key=len)
    nats, count = 0.0, 0
    for i in range(0, len(rows), 16):
        width = len(rows[min(i + 16, len(rows)) - 1])
        x = torch.full((len(rows[i:i + 16]), width), end)
        y = torch.full_like(x, -100)
        for j, row in enumerate(rows[i:i + 16]):
            x[j, :len(row)] = torch.tensor(row)
            y[j, :len(row) - 1] = torch.tensor(row[1:])
        logits = model(x[:, :-1])
        nats += F.cross_entropy(logits.flatten(0, 1), y[:, :-1].flatten(), reduction="sum").item()
        count += (y != -100).sum().item()
    model.train()
    return nats / count, count, nats


@torch.no_grad()
def sample(model, tokenizer, prompt, n, temperature=0.8, top_k=40, seed=0):
    """Returns the prompt and up to n more tokens. With temperature 0, takes the likeliest token."""
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    ids = tokenizer.encode(prompt)
    while n > 0 and len(ids) < Config.n_positions:
        logits = model(torch.tensor([ids]))[0, -1]
        if temperature == 0:
            token = logits.argmax().item()
        else:
            values, tokens = (logits / temperature).topk(top_k)
            token = tokens[torch.multinomial(values.softmax(0), 1, generator=generator)].item()
        if token == tokenizer.end_of_text:
            break
        ids.append(token)
        n -= 1
    model.train()
    return tokenizer.decode(ids)


def report(model, tokenizer, held_out, out):
    """Prints the perplexity and samples of the weights as exported, in F16, but computes in F32."""
    rounded = GPT2(Config)
    rounded.load_state_dict({k: v.half().float() for k, v in model.state_dict().items()})
    per_token, count, nats = evaluate(rounded, tokenizer, held_out)
    n_bytes = sum(len(s.encode()) for s in held_out)
    print(f"held-out perplexity {math.exp(per_token):.4f}, {nats / math.log(2) / n_bytes:.4f} bits "
          f"per byte ({len(held_out)} stories, {count} tokens, {n_bytes} bytes)")
    print(f"{out}/model.safetensors: {os.path.getsize(out + '/model.safetensors')} bytes")
    for prompt in ("Once upon a time", "One day, a little cat", "Lily and Tom went to the beach."):
        print("\n[greedy] " + sample(rounded, tokenizer, prompt, 120, temperature=0))
        print("\n[sampled] " + sample(rounded, tokenizer, prompt, 120), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", required=True, help="the folder with the texts")
    parser.add_argument("--out", default="models/gpt2-stories", help="the folder for the model")
    parser.add_argument("--work", default="build/bundled_model",
                        help="the folder for the state of training")
    parser.add_argument("--steps", type=int, default=1350, help="the total number of steps")
    parser.add_argument("--cooldown", type=int, default=900,
                        help="the number of cooldown steps at the end")
    parser.add_argument("--long-rows", type=int, default=250,
                        help="the number of steps at the end that have rows of n_positions tokens")
    parser.add_argument("--lr", type=float, default=2e-3, help="AdamW's peak learning rate")
    parser.add_argument("--muon-lr", type=float, default=0.02,
                        help="Muon's peak learning rate; 0: only AdamW")
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--save-every", type=int, default=100,
                        help="the number of steps between checkpoints")
    parser.add_argument("--eval-stories", type=int, default=64,
                        help="the number of held-out stories to evaluate at a checkpoint")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="continue with the state in --work")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
