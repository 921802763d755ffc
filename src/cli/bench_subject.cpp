#include "cli/bench_subject.h"

#include "cli/args.h"
#include "cli/load_model.h"
#include "gpt2/model_files.h"
#include "measure/random_model.h"

namespace gpt2::cli {
namespace {

Config published_config(const std::string& size) {
  if (size == "124M") return {.n_embd = 768, .n_layer = 12, .n_head = 12};
  if (size == "355M") return {.n_embd = 1024, .n_layer = 24, .n_head = 16};
  if (size == "774M") return {.n_embd = 1280, .n_layer = 36, .n_head = 20};
  if (size == "1558M") return {.n_embd = 1600, .n_layer = 48, .n_head = 25};
  throw UsageError("--size", "expected 124M, 355M, 774M or 1558M, found '" + size + "'");
}

}  // namespace

BenchSubject BenchSubject::random(const std::string& size) {
  BenchSubject subject;
  subject.config_ = published_config(size);
  subject.name_ = size + " parameters of random weights";
  return subject;
}

BenchSubject BenchSubject::named(const std::string& model) {
  BenchSubject subject;
  subject.path_ = find_model(model);
  subject.config_ = Model::load(subject.path_).config();
  subject.name_ = subject.path_.string();
  return subject;
}

std::vector<std::string> BenchSubject::default_dtypes() const {
  if (config_.quantized == WeightType::stored) return {"f32", "bf16", "int8", "int4"};
  return {std::string(name_of(config_.quantized))};
}

bool BenchSubject::can_load(const std::string& dtype) const {
  return config_.quantized == WeightType::stored || dtype == name_of(config_.quantized);
}

Model BenchSubject::load(const std::string& dtype) const {
  const LoadOptions options{.dtype = parse_dtype(dtype)};
  return path_.empty() ? random_model(config_, options) : load_as(path_, options);
}

}  // namespace gpt2::cli
