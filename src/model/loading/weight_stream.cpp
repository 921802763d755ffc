#include "model/loading/weight_stream.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "formats/safetensors.h"

namespace gpt2 {
namespace {

constexpr const char* kWhere = "safetensors";
constexpr std::size_t kMaxSides = 1 << 24;  // rows or columns

// Returns the matrix that a tensor is by the end of its name, or an empty one. The loader checks
// names and shapes. `is_linear`: the matrices lie as those of torch.nn.Linear.
Weight matrix_of(const std::string& name, const TensorView& view, bool is_linear) {
  const auto ends_with_one_of = [&](auto... ends) { return (name.ends_with(ends) || ...); };
  const bool is_table = ends_with_one_of("wte.weight", "lm_head.weight", "lm_head.decoder.weight");
  const bool is_matrix = is_table || ends_with_one_of("attn.c_attn.weight", "attn.c_proj.weight",
                                                      "mlp.c_fc.weight", "mlp.c_proj.weight");
  if (!is_matrix || view.shape.rank() != 2) return {};
  // Larger ones might have more bytes than can be counted, once they are padded.
  if (std::max(view.shape[0], view.shape[1]) > kMaxSides) return {};
  const auto type = float_type_of(view.dtype);
  Weight matrix{.type = type ? by_type(*type, WeightType::f32, WeightType::f16, WeightType::bf16)
                             : WeightType::stored,
                .layout = is_table || is_linear ? Weight::Layout::nk : Weight::Layout::kn,
                .k = view.shape[0],
                .n = view.shape[1]};
  if (matrix.layout == Weight::Layout::nk) std::swap(matrix.k, matrix.n);
  return matrix;
}

bool are_linear(const TensorList& tensors) {
  return std::ranges::any_of(tensors, [](const auto& tensor) {
    const Shape& shape = tensor.second.shape;
    return tensor.first.ends_with("attn.c_attn.weight") && shape.rank() == 2 &&
           shape[0] == 3 * shape[1];
  });
}

}  // namespace

std::size_t WeightStream::Entry::band_bytes(WeightType to) const {
  const std::size_t element = element_bytes(*matrix.float_type());
  if (matrix.layout == Weight::Layout::nk) return kPanel * matrix.k * element;
  return Weight{.type = to}.block() * matrix.n * element;
}

void WeightStream::add(Bytes part) {
  if (result_.size() == 0) {
    head_.insert(head_.end(), part.begin(), part.end());
    const std::size_t size = safetensors_header_size(head_, kWhere);
    if (head_.size() < size) return;
    begin(Bytes(head_).first(size));
    part = Bytes(head_).subspan(size);
  }
  while (!part.empty()) part = take(part);
}

void WeightStream::begin(Bytes head) {
  TensorList tensors = parse_safetensors_header(head, kWhere);
  const bool is_linear = are_linear(tensors);
  bool has_floats = false, has_others = false;
  for (const auto& [name, view] : tensors) {
    const Weight matrix = matrix_of(name, view, is_linear);
    entries_.push_back({view.bytes, matrix});
    if (matrix.size() > 0) (matrix.float_type() ? has_floats : has_others) = true;
  }
  if (has_others || !has_floats) type_ = WeightType::stored;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TensorView& view = tensors[i].second;
    Weight matrix = entries_[i].matrix;
    if (!is_quantized()) entries_[i].matrix = {};
    if (entries_[i].matrix.size() > 0) {
      matrix.type = type_;
      view = {.dtype = DType::u8, .shape = matrix.shape(), .bytes = matrix.bytes()};
    }
    total += view.bytes;
  }
  const std::string header = safetensors_header(tensors);
  if (total > SIZE_MAX - header.size()) throw std::bad_alloc();
  result_ = AlignedBuffer<std::byte>(header.size() + static_cast<std::size_t>(total));
  std::ranges::copy(std::as_bytes(std::span(header)), result_.data());
  end_ = header.size();
}

Bytes WeightStream::take(Bytes part) {
  if (entry_ == entries_.size()) fail(kWhere, "more bytes follow the last tensor");
  const Entry& entry = entries_[entry_];
  std::size_t size = std::min(part.size(), entry.bytes - taken_);
  std::size_t result_bytes = entry.bytes;
  if (entry.matrix.size() == 0) {
    std::ranges::copy(part.first(size), result_.data() + end_ + taken_);
    taken_ += size;
  } else {
    size = std::min(size, entry.band_bytes(type_) - band_.size());
    band_.insert(band_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(size));
    taken_ += size;
    if (band_.size() == entry.band_bytes(type_) || taken_ == entry.bytes) quantize_band();
    Weight matrix = entry.matrix;
    matrix.type = type_;
    result_bytes = matrix.bytes();
  }
  if (taken_ == entry.bytes) {
    end_ += result_bytes;
    taken_ = 0;
    ++entry_;
  }
  return part.subspan(size);
}

// A band has the rows of one block of k for all panels, or all blocks of one panel.
void WeightStream::quantize_band() {
  const Entry& entry = entries_[entry_];
  const Weight to = {.type = type_};
  const std::size_t blocks = ceil_div(entry.matrix.k, to.block());
  const std::size_t panels = ceil_div(entry.matrix.n, kPanel);
  const std::size_t index = (taken_ - band_.size()) / entry.band_bytes(type_);
  std::byte* const result = result_.data() + end_;
  Weight band = entry.matrix;
  band.data = band_.data();
  const std::size_t elements = band_.size() / element_bytes(*band.float_type());
  if (band.layout == Weight::Layout::nk) {
    band.n = elements / band.k;
    for (std::size_t block = 0; block < blocks; ++block) {
      quantize_block(result + index * blocks * to.block_bytes(), type_, band, 0, block);
    }
  } else {
    band.k = elements / band.n;
    for (std::size_t panel = 0; panel < panels; ++panel) {  // whose block is the only one of `band`
      const std::size_t skipped = panel * (blocks - 1) + index;
      quantize_block(result + skipped * to.block_bytes(), type_, band, panel, 0);
    }
  }
  band_.clear();
}

Bytes WeightStream::finish() const {
  if (result_.size() == 0) static_cast<void>(parse_safetensors(head_, kWhere));  // which throws
  for (std::size_t i = entry_; i < entries_.size(); ++i) {
    if (entries_[i].bytes > 0) fail(kWhere, "cut off: download it again");
  }
  return {result_.data(), result_.size()};
}

std::string quantized_config(std::string_view config, WeightType type) {
  auto document = parse_json(config, "config.json");
  if (!document.root.is_object()) fail("config.json", "expected an object");
  document.root["gpt2_cpp"]["dtype"] = name_of(type);
  return document.root.dump();
}

}  // namespace gpt2
