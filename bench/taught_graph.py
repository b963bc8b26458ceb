"""A graph of our model as a torch network that can be taught more, and written back.

The graph multiplies in 8 bits: what goes into a layer is rounded by the span of its whole batch,
weights by the largest of each column. The network rounds in the same way while it learns, so that
what it learns survives the rounding. Word table and the first two layers are shared by all graphs
and stay as they are.
"""

import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

SIZE, INNER, HEADS = 384, 1536, 12
SHARED, LAYERS = 2, 6
FILES = ("embed.onnx", "judge.onnx", "listen.onnx", "weights.bin", "vocab.txt")
# Where the layers of each graph stand, and what its heads are called there.
PREFIX = {"judge": "jl", "listen": "ll"}
HEAD_NAMES = {"judge": {"answers": ("jh", 1)}, "listen": {"tags": ("lh", 15), "any": ("la", 1)}}
PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "joined": "attention.output.dense",
    "inner": "intermediate.dense",
    "outer": "output.dense",
}
NORMS = {"first_norm": "attention.output.LayerNorm", "second_norm": "output.LayerNorm"}


def _rounded_input(given: Tensor) -> Tensor:
    """Round by the span of the whole batch; the slope passes as if nothing had been rounded."""
    low, high = torch.aminmax(given.detach())
    step = ((high.clamp_min(0.0) - low.clamp_max(0.0)) / 255).clamp_min(1e-9)
    return given + ((given.detach() / step).round() * step - given.detach())


def _rounded_weight(weight: Tensor) -> Tensor:
    step = (weight.detach().abs().amax(1, keepdim=True) / 127).clamp_min(1e-9)
    return weight + ((weight.detach() / step).round() * step - weight.detach())


class Rounded(nn.Linear):
    # Off while most is learned: rounding takes a sixth of the time, and is soon learned.
    rounds = True

    def forward(self, given: Tensor) -> Tensor:
        if not self.rounds:
            return super().forward(given)
        return functional.linear(_rounded_input(given), _rounded_weight(self.weight), self.bias)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (Rounded(SIZE, SIZE) for _ in range(3))
        self.joined = Rounded(SIZE, SIZE)
        self.inner, self.outer = Rounded(SIZE, INNER), Rounded(INNER, SIZE)
        self.first_norm, self.second_norm = (nn.LayerNorm(SIZE, eps=1e-12) for _ in range(2))

    def forward(self, given: Tensor, hidden: Tensor) -> Tensor:
        rows, length, _ = given.shape

        def by_head(part: nn.Module) -> Tensor:
            return part(given).view(rows, length, HEADS, -1).transpose(1, 2)

        seen = functional.scaled_dot_product_attention(
            by_head(self.query), by_head(self.key), by_head(self.value), attn_mask=hidden
        )
        joined = self.joined(seen.transpose(1, 2).reshape(rows, length, SIZE))
        middle = self.first_norm(given + joined)
        outer = self.outer(functional.gelu(self.inner(middle)))
        return self.second_norm(middle + outer)


class Network(nn.Module):
    """`judge` or `listen`: token ids and mask in, one tensor of logits a head out."""

    def __init__(self, graph: str, folder: Path):
        super().__init__()
        self.graph, self.folder = graph, folder
        model = onnx.load(folder / f"{graph}.onnx")
        self._found = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
        self._weights = {
            node.name: node.input[1]
            for node in model.graph.node
            if node.op_type in ("MatMulInteger", "MatMul") and node.input[1] in self._found
        }
        # Name of each part of the network: its weights and its bias in the graph.
        self.places: dict[str, tuple[str, str]] = {}
        self._read_words()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        for number, layer in enumerate(self.layers):
            self._read_layer(number, layer)
        self.heads = nn.ModuleDict()
        for output, (name, width) in HEAD_NAMES[graph].items():
            quantised = f"/{name}/Gemm_MatMul_quant" in self._weights
            self.heads[output] = head = (Rounded if quantised else nn.Linear)(SIZE, width)
            self._fill(head, f"heads.{output}", self._matrix(f"/{name}/"), f"{name}.bias")
        self.requires_grad_(False)
        self.layers[SHARED:].requires_grad_(True)
        self.heads.requires_grad_(True)

    def forward(self, ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
        rows, length = ids.shape
        hidden = torch.zeros(rows, 1, 1, length).masked_fill(mask[:, None, None, :] == 0, -1e9)
        with torch.no_grad():
            given = self.words_norm(self.words[ids] + self.positions[:length] + self.kind)
            for layer in self.layers[:SHARED]:
                given = layer.eval()(given, hidden)
        for layer in self.layers[SHARED:]:
            given = layer(given, hidden)
        return {
            name: head(given if name == "tags" else given[:, 0])
            for name, head in self.heads.items()
        }

    def write(self, folder: Path) -> None:
        """Copy the files to the folder, with what was learned in place of what was there."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            if folder.resolve() != self.folder.resolve():
                shutil.copyfile(self.folder / name, folder / name)
        path = folder / f"{self.graph}.onnx"
        model = onnx.load(path, load_external_data=False)
        stored = {one.name: one for one in model.graph.initializer}
        parts = dict(self.named_modules())
        with (folder / "weights.bin").open("r+b") as file:
            for place, (weight, bias) in self.places.items():
                if place.startswith(tuple(f"layers.{number}." for number in range(SHARED))):
                    continue
                values = _as_stored(weight, parts[place].weight.detach().numpy())
                values[bias] = parts[place].bias.detach().numpy()
                for name, value in values.items():
                    _put(stored[name], value, file)
        onnx.save(model, path)

    def _read_words(self) -> None:
        named = "b.embeddings.{}.weight"
        self.words = self._table(named.format("word_embeddings"))
        self.positions = self._table(named.format("position_embeddings"))
        self.kind = self._table(named.format("token_type_embeddings"))[0]
        self.words_norm = nn.LayerNorm(SIZE, eps=1e-12)
        for part in ("weight", "bias"):
            value = torch.tensor(self._found[f"b.embeddings.LayerNorm.{part}"])
            getattr(self.words_norm, part).data = value

    def _table(self, name: str) -> Tensor:
        zero, scale = (self._found[f"{name}_{part}"] for part in ("zero_point", "scale"))
        rows = self._found[f"{name}_quantized"].astype(np.float32)
        return torch.tensor((rows - float(zero)) * float(scale))

    def _read_layer(self, number: int, layer: Layer) -> None:
        shared = number < SHARED
        stem = f"b.encoder.layer.{number}" if shared else f"{PREFIX[self.graph]}.{number - SHARED}"
        node = f"/layer.{number}" if shared else f"/{stem}"
        for part, name in PARTS.items():
            weight = self._matrix(f"{node}/{name.replace('.', '/')}/MatMul")
            self._fill(
                getattr(layer, part), f"layers.{number}.{part}", weight, f"{stem}.{name}.bias"
            )
        for part, name in NORMS.items():
            norm = getattr(layer, part)
            norm.weight.data = torch.tensor(self._found[f"{stem}.{name}.weight"])
            norm.bias.data = torch.tensor(self._found[f"{stem}.{name}.bias"])
            self.places[f"layers.{number}.{part}"] = (
                f"{stem}.{name}.weight",
                f"{stem}.{name}.bias",
            )

    def _matrix(self, node: str) -> str:
        (name,) = [weight for one, weight in self._weights.items() if one.startswith(node)]
        return name

    def _fill(self, part: nn.Linear, place: str, weight: str, bias: str) -> None:
        values = self._found[weight].astype(np.float32)
        if weight.endswith("_quantized"):
            values = values * self._found[weight.removesuffix("quantized") + "scale"]
        part.weight.data = torch.tensor(values.T.copy())
        part.bias.data = torch.tensor(self._found[bias].reshape(-1).copy())
        self.places[place] = (weight, bias)


def _as_stored(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the tensors of the graph that hold these weights."""
    if values.ndim == 1:
        return {name: values}
    columns = values.T
    if not name.endswith("_quantized"):
        return {name: columns}
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-9) / 127
    rounded = np.clip(np.round(columns / scale), -127, 127).astype(np.int8)
    return {name: rounded, name.removesuffix("quantized") + "scale": scale}


def _put(stored: onnx.TensorProto, value: np.ndarray, file) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(stored.data_type)
    raw = np.ascontiguousarray(value.reshape(tuple(stored.dims)), dtype=kind).tobytes()
    if stored.data_location == onnx.TensorProto.EXTERNAL:
        where = {one.key: one.value for one in stored.external_data}
        if int(where["length"]) != len(raw):
            raise ValueError(f"{stored.name} has another size in weights.bin.")
        file.seek(int(where["offset"]))
        file.write(raw)
        return
    for field in ("float_data", "int32_data"):
        stored.ClearField(field)
    stored.raw_data = raw
