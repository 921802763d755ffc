#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/new_file.h"
#include "base/paths.h"
#include "base/share.h"
#include "base/text.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "model/loading/config_json.h"
#include "model/transformer.h"
#include "tensor/dtype.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

DType dtype_of(WeightType type) {
  const auto floats = float_type_of(type);
  return floats ? by_type(*floats, DType::f32, DType::f16, DType::bf16) : DType::u8;
}

void write_safetensors(const fs::path& file, const std::vector<NamedWeight>& tensors,
                       const std::function<void(double share)>& progress) {
  TensorList list;
  std::size_t total = 0, written = 0;
  for (const NamedWeight& tensor : tensors) {
    list.emplace_back(tensor.name, TensorView{.dtype = dtype_of(tensor.type),
                                              .shape = Shape(tensor.shape),
                                              .bytes = tensor.bytes.size()});
    total += tensor.bytes.size();
  }
  NewFile out(file);
  out.write(bytes_of_text(safetensors_header(list)));
  for (const NamedWeight& tensor : tensors) {
    if (progress) progress(share_of(written, total));
    written += tensor.bytes.size();
    out.write(tensor.bytes);
  }
  out.commit();
}

void write_file(const fs::path& to, Bytes content) {
  NewFile out(to);
  out.write(content);
  out.commit();
}

template <class Json>
void write_json(const fs::path& to, const Json& tree) {
  write_file(to, bytes_of_text(tree.dump(2) + '\n'));
}

void write_config(const fs::path& to, const Config& config, WeightType type) {
  JsonDocument<nlohmann::ordered_json> document = config_tree(config);
  document.root["model_type"] = "gpt2";
  document.root["gpt2_cpp"]["dtype"] = name_of(type);
  write_json(to, document.root);
}

// Copies the files of the tokenizer and the generation_config.json. If there is no such file,
// copies config.json under this name, because older configs contain the settings for generation,
// but with the tokens that end a text, because those of the written config.json no longer count.
void copy_side_files(const ModelPlaces& from, const Config& config, const fs::path& to) {
  for (const char* name : kTokenizerFiles) {
    if (is_there(from.tokenizer / name))
      write_file(to / name, MappedFile(from.tokenizer / name).bytes());
  }
  const char* const name = "generation_config.json";
  if (is_there(from.config / name)) {
    write_file(to / name, MappedFile(from.config / name).bytes());
  } else if (const fs::path older = from.config / "config.json"; is_there(older)) {
    auto document = parse_json(text_of(MappedFile(older).bytes()), older.string());
    document.root["eos_token_id"] = config.eos_token_id;
    write_json(to / name, document.root);
  }
}

}  // namespace

void require_new_directory(const fs::path& out) { static_cast<void>(NewDirectory(out)); }

void save_quantized(const Model& model, const fs::path& source, const fs::path& out,
                    const std::function<void(double share)>& progress, const fs::path& tokenizer) {
  const Transformer& transformer = *model.transformer();
  if (!transformer.lm_head.is_quantized()) reject("only int8 and int4 weights can be saved");
  ModelPlaces from = find_places(source, model.description().base.string());
  from.config = directory_of(from.config);
  from.tokenizer = tokenizer_directory(tokenizer.empty() ? from.tokenizer : tokenizer);
  NewDirectory directory(out);
  const fs::path& partial = directory.partial();
  try {
    // In case `progress` changes the working directory.
    from = {fs::absolute(from.config), fs::absolute(from.tokenizer)};
    std::vector<NamedWeight> tensors = weights_of(model);
    std::ranges::sort(tensors, {}, &NamedWeight::name);
    write_safetensors(partial / "model.safetensors", tensors, progress);
    write_config(partial / "config.json", transformer.config, transformer.lm_head.type);
    copy_side_files(from, transformer.config, partial);
    directory.commit();
  } catch (const fs::filesystem_error& error) {
    fail(out.string(), "cannot be written: ", error.path1().string(), ": ",
         reason_of(error.code()));
  }
}

}  // namespace gpt2
