#include "gpt2/tensor.h"

#include "gpt2/error.h"

namespace gpt2 {

std::size_t Shape::element_count() const {
  std::size_t count = 1;
  for (const std::size_t size : sizes_) {
    if (__builtin_mul_overflow(count, size, &count)) {
      throw Error(ErrorCode::invalid_argument, "shape " + to_string() + " has too many elements");
    }
  }
  return count;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const std::size_t size : sizes_) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

Tensor::Tensor(Shape shape, float value)
    : shape_(std::move(shape)), values_(shape_.element_count(), value) {}

Tensor::Tensor(Shape shape, std::vector<float> values)
    : shape_(std::move(shape)), values_(std::move(values)) {
  if (values_.size() != shape_.element_count()) {
    throw Error(ErrorCode::invalid_argument, "a tensor of shape " + shape_.to_string() + " takes " +
                                                 std::to_string(shape_.element_count()) +
                                                 " values, got " + std::to_string(values_.size()));
  }
}

}  // namespace gpt2
