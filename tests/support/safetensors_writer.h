#pragma once

#include <nlohmann/json.hpp>

#include "support/bytes.h"
#include "support/test.h"

namespace gpt2::test {

/// Builds a safetensors file of f32 tensors, tensor by tensor.
class SafetensorsWriter {
 public:
  void add(const std::string& name, const std::vector<std::size_t>& shape,
           const std::vector<float>& values) {
    const std::size_t begin = data_.size();
    for (const float value : values) data_ += little_endian(std::bit_cast<std::uint32_t>(value));
    header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
  }

  void constant(const std::string& name, const std::vector<std::size_t>& shape, float value) {
    std::size_t count = 1;
    for (const std::size_t size : shape) count *= size;
    add(name, shape, std::vector<float>(count, value));
  }

  void write(const std::filesystem::path& file) const {
    const std::string header = header_.dump();
    std::ofstream(file, std::ios::binary)
        << little_endian(std::uint64_t{header.size()}) << header << data_;
  }

 private:
  nlohmann::json header_;
  std::string data_;
};

}  // namespace gpt2::test
