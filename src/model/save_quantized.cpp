#include "gpt2/save_quantized.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/paths.h"
#include "formats/tensor_table.h"
#include "formats/tokenizer_files.h"
#include "model/config_json.h"
#include "model/transformer.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

TensorView view_of(const Weight& weight, const Shape& shape) {
  const auto floats = weight.float_type();
  const DType dtype = floats ? by_type(*floats, DType::f32, DType::f16, DType::bf16) : DType::u8;
  return {dtype, shape, weight.data, weight.bytes()};
}

TensorView view_of(const Tensor& tensor, const Shape& shape) {
  const Bytes bytes = std::as_bytes(tensor.values());
  return {DType::f32, shape, bytes.data(), bytes.size()};
}

void close(std::ofstream& out, const fs::path& file) {
  out.close();
  if (!out) fail(file.string(), "cannot be written: ", std::generic_category().message(errno));
}

void write_safetensors(const fs::path& file, const TensorTable& tensors,
                       const std::function<void()>& before_each) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", name_of(tensor.dtype)},
                    {"shape", tensor.shape.sizes()},
                    {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::ofstream out(file, std::ios::binary);
  const std::uint64_t length = text.size();
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i)));
  out << text;
  for (const auto& [name, tensor] : tensors) {
    if (before_each) before_each();
    if (!(out << text_of({tensor.data, tensor.bytes}))) break;  // close() says why
  }
  close(out, file);
}

void write_config(const fs::path& to, const Config& config, WeightType type) {
  nlohmann::ordered_json json = config_tree(config);
  json["model_type"] = "gpt2";
  json["gpt2_cpp"] = {{"dtype", name_of(type)}};
  std::ofstream out(to);
  out << json.dump(2) << '\n';
  close(out, to);
}

// Copies what a tokenizer is read from, and how to generate: older configs say that themselves.
void copy_side_files(const fs::path& from, const fs::path& to) {
  const auto copy = [&](const char* name) {
    if (is_there(from / name)) fs::copy_file(from / name, to / name);
  };
  for_each_tokenizer_file(copy);
  copy("generation_config.json");
  if (is_there(from / "config.json")) {
    fs::copy_file(from / "config.json", to / "generation_config.json",
                  fs::copy_options::skip_existing);
  }
}

// `out` without a slash at its end. Throws as require_new_directory says.
fs::path new_directory(const fs::path& out) {
  fs::path directory = out.has_filename() ? out : out.parent_path();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(directory, ignored))) {
    fail(ErrorCode::invalid_argument, directory.string(), "exists already; choose another name");
  }
  const fs::path name = directory.filename();
  if (name == "." || name == "..") {
    fail(ErrorCode::invalid_argument, directory.string(), "expected the name of a new directory");
  }
  fs::path parent = fs::absolute(directory, ignored).parent_path();
  while (!fs::exists(parent, ignored) && parent.has_relative_path()) parent = parent.parent_path();
  if (::access((parent / ".").c_str(), W_OK | X_OK) == 0) return directory;
  fail(directory.string(), "cannot be written: ", parent.string(), ": ",
       std::generic_category().message(errno));
}

}  // namespace

void require_new_directory(const fs::path& out) { static_cast<void>(new_directory(out)); }

void save_quantized(const Model& model, const fs::path& source, const fs::path& out,
                    const std::function<void()>& before_each) {
  const fs::path directory = new_directory(out);
  const Transformer& transformer = *model.transformer();
  if (!transformer.lm_head.is_quantized()) reject("only int8 and int4 weights can be saved");
  std::error_code ignored;
  fs::path partial = directory;
  partial += concat(".partial-", ::getpid());
  std::vector<fs::path> made;  // of its parents, the last one first
  // Runs at the end in any case: removes the partial directory if it was not renamed, and the new
  // parents if they are empty.
  const auto remove = [&](const fs::path* path) {
    fs::remove_all(*path, ignored);
    for (const fs::path& parent : made) fs::remove(parent, ignored);
  };
  const std::unique_ptr<const fs::path, decltype(remove)> removing(&partial, remove);
  try {
    fs::remove_all(partial);  // of a killed process that had the same id
    fs::path parent;
    for (const fs::path& name : directory.parent_path()) {
      parent /= name;
      if (!fs::exists(parent) && fs::create_directory(parent)) made.insert(made.begin(), parent);
    }
    fs::create_directory(partial);
    TensorTable tensors;
    const auto add = [&](const auto& tensor, const std::string& name, const Shape& shape) {
      const TensorView view = view_of(tensor, shape);
      if (view.bytes > 0) tensors[name] = view;  // a bias that the model does without is empty
    };
    for_each_tensor(transformer, add);
    write_safetensors(partial / "model.safetensors", tensors, before_each);
    write_config(partial / "config.json", transformer.config, transformer.lm_head.type);
    copy_side_files(directory_of(source), partial);
    fs::rename(partial, directory);
  } catch (const fs::filesystem_error& error) {
    fail(directory.string(), "cannot be written: ", error.path1().string(), ": ",
         error.code().message());
  }
}

}  // namespace gpt2
