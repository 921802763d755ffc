#include "gpt2/tensor.h"

#include "base/checked_math.h"
#include "base/fail.h"

namespace gpt2 {

namespace {

[[noreturn]] void reject_size(const Shape& shape) {
  reject("shape ", shape.to_string(), " has too many elements");
}

}  // namespace

std::size_t Shape::element_count() const {
  const auto count = checked_product(sizes());
  if (!count) reject_size(*this);
  return *count;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const std::size_t size : sizes_) text += concat(text.size() > 1 ? ", " : "", size);
  return text + "]";
}

Tensor::Tensor(Shape shape, float value) : shape_(std::move(shape)) {
  const std::size_t count = shape_.element_count();
  if (count > values_.max_size()) reject_size(shape_);
  values_.assign(count, value);
}

Tensor::Tensor(Shape shape, std::vector<float> values)
    : shape_(std::move(shape)), values_(std::move(values)) {
  if (values_.size() != shape_.element_count()) {
    reject("a tensor of shape ", shape_.to_string(), " takes ", shape_.element_count(),
           " values, got ", values_.size());
  }
}

}  // namespace gpt2
