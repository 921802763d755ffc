#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "model/weight.h"

namespace gpt2 {

/// Quantizes the matrices of a safetensors file that arrives in parts, so that its floats are never
/// in memory together: only those of one block of rows. The result is a safetensors file for a
/// model with the quantized_config(). Its matrices have the bytes that
/// conversion while loading gives. A file stays as it is if it has a matrix that is not F32, F16 or
/// BF16.
class WeightStream {
 public:
  /// REQUIRES: `type` is int8 or int4.
  explicit WeightStream(WeightType type) : type_(type) {}

  /// Takes the next bytes of the file. Throws Error(invalid_file) for a header that
  /// parse_safetensors() refuses, and for bytes behind the last tensor; std::bad_alloc.
  void add(Bytes part);

  /// Returns the result, which this object owns. Throws Error(invalid_file) if bytes are missing.
  [[nodiscard]] Bytes finish() const;

  /// Whether the matrices are quantized. REQUIRES: finish() has returned.
  [[nodiscard]] bool is_quantized() const noexcept { return type_ != WeightType::stored; }

 private:
  // A tensor of the file.
  struct Entry {
    std::size_t bytes;
    Weight matrix;  // to be quantized; empty for a tensor that stays as it is

    // The bytes of the rows that make whole blocks.
    [[nodiscard]] std::size_t band_bytes(WeightType to) const;
  };

  void begin(Bytes head);
  [[nodiscard]] Bytes take(Bytes part);
  void quantize_band();

  WeightType type_;  // `stored` if the file stays as it is
  std::vector<std::byte> head_ = {}, band_ = {};
  std::vector<Entry> entries_ = {};    // in the order of the file
  std::size_t entry_ = 0, taken_ = 0;  // the tensor that comes next, and the bytes of it so far
  std::size_t end_ = 0;                // of the tensors before it, in the result
  AlignedBuffer<std::byte> result_ = {};
};

/// Returns the text of a config.json for weights that a WeightStream has quantized, from that for
/// the floats. Throws Error(invalid_file) if it is no JSON object.
[[nodiscard]] std::string quantized_config(std::string_view config, WeightType type);

}  // namespace gpt2
