#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/model_files.h"
#include "gpt2/types.h"

namespace [[gnu::visibility("default")]] gpt2 {

struct Transformer;

/// How to load a model.
///
/// Example:
///   const Model small = Model::load("models/gpt2-stories", {.dtype = WeightType::int8});
struct LoadOptions {
  /// The type in which the model holds its matrices. `stored` uses them in place in the mapped
  /// file: loading takes milliseconds, and processes that load the same files share the memory.
  /// With any other type, load() converts them once, on all cores, into memory that the model owns;
  /// this takes about 0.2 seconds for GPT-2 124M. A checkpoint that is already quantized can only
  /// be loaded as it is.
  WeightType dtype = WeightType::stored;

  /// Whether the files are mapped into memory. If not, they are read once, into memory that the
  /// model owns: a process that uses a mapped file ends with SIGBUS if another one shortens the
  /// file, which matters for a long-running process on a disk that others write to. Has no effect
  /// on files in memory.
  bool use_mmap = true;

  /// The name of the base, if an adapter is loaded: see Model::load. Empty: the base that the
  /// adapter names.
  std::string base = {};

  /// Called, unless it is empty, after each matrix, with the share of the matrices' bytes that have
  /// been converted, up to 1. If nothing has to be converted, it is called once, at the end. It is
  /// called on the thread that called load(). An exception from it cancels the work and reaches the
  /// caller of load().
  std::function<void(double share)> progress = {};
};

/// The files, formats and types that a model was loaded from, to be shown to people, as `gpt2 info`
/// does. Programs should not depend on the strings, which may change between versions.
struct ModelDescription {
  std::vector<std::filesystem::path> files = {};  ///< the files that were read, in this order
  std::string format = {};                        ///< "safetensors", "PyTorch zip, 5 shards" ...
  std::filesystem::path base = {};                ///< of the adapter that was merged, if any
  std::size_t tensors = 0;                        ///< how many tensors of the files are used
  std::map<std::string, std::vector<std::string>> ignored = {};  ///< reason -> names in the files

  /// What may surprise: a head that is not used, for example. A sentence each.
  std::vector<std::string> warnings = {};

  /// attention, embeddings, mlp, norms -> types as stored ("BF16", "INT8") -> how many tensors
  std::map<std::string, std::map<std::string, std::size_t>> dtypes = {};

  std::size_t mapped_bytes = 0;     ///< bytes of matrices that are used in place in the files
  std::size_t converted_bytes = 0;  ///< bytes of matrices that were converted to LoadOptions::dtype
};

/// The weights of a GPT-2.
///
/// A Model is immutable, so any number of threads may use it at the same time. It is cheap to copy,
/// because copies share the weights. The weights live as long as a copy, an Engine or a Session
/// uses them. One that has been moved from can only be destroyed or assigned to. A Model does not
/// compute: a Session (session.h) runs forward passes, and generate() (generate.h) writes text.
///
/// Example:
///   const Model model = Model::load("models/gpt2-stories", {.dtype = WeightType::int8});
///   const std::size_t longest = model.config().n_positions;
class Model {
 public:
  /// Loads a HuggingFace directory (config.json and weights). `path` may also be a file in it: a
  /// file of weights is loaded itself; any other file stands for its directory. The weights are
  /// model.safetensors, pytorch_model.bin, an index of shards of either, nanoGPT's ckpt.pt or
  /// model.fp16.safetensors; load() uses the first of these that exists. find_model
  /// (model_files.h) turns a name into a path.
  ///
  /// A directory with PEFT's adapter_config.json and adapter_model.safetensors (or .bin) is a LoRA
  /// adapter. Its base is the model that options.base or else the config names, as find_model finds
  /// it. load() merges the adapter into the matrices, of which it copies those that change, as f32,
  /// before it converts them. If tokens were added to the base before the training, the config has
  /// their new number. If a whole model lies beside an adapter, load() uses the adapter only with
  /// options.base or if `path` is one of its files.
  ///
  /// The files stay mapped as long as the model lives and must not change during that time. (If a
  /// file is truncated, the process may be killed by SIGBUS.) Throws Error, which names the file,
  /// for files that cannot be used, and for an unusable GPT2_ISA.
  [[nodiscard]] static Model load(const std::filesystem::path& path,
                                  const LoadOptions& options = {});

  /// The same for files in memory. They have the names that they would have in a directory:
  /// config.json and model.safetensors, or others of those above. Error messages use these names.
  ///
  /// The model uses wpe, and all matrices if their type is not converted, in place in `files`,
  /// without a copy and at any alignment. Therefore, the bytes of the weights must not change or be
  /// freed while the model or any of its copies, conversions, engines or sessions lives. The model
  /// keeps each file's `owner` for that time. The list itself, the names and the other files are
  /// needed only during the call. Throws Error as above, and Error(invalid_argument) if two files
  /// have the same name.
  ///
  /// Example:
  ///   std::vector<std::byte> config, weights;  // of the files, from wherever a program has them
  ///   const MemoryFile files[] = {{.name = "config.json", .bytes = config},
  ///                               {.name = "model.safetensors", .bytes = weights}};
  ///   const Model model = Model::load(files);
  [[nodiscard]] static Model load(std::span<const MemoryFile> files,
                                  const LoadOptions& options = {});

  /// Returns the same model with its matrices converted to another type, without reading the files
  /// again. Shares the parts that are not converted with this model. If `dtype` is `stored`,
  /// returns this model.
  ///
  /// Cost: the same as for load() with this type. Throws Error(invalid_argument) if the weights are
  /// already quantized, because quantization has lost the precision that another type would need.
  ///
  /// Example:
  ///   const Model draft = model.to(WeightType::int4);
  [[nodiscard]] Model to(WeightType dtype) const;

  /// The sizes and settings of the model. The reference lives as long as the weights do.
  [[nodiscard]] const Config& config() const noexcept;

  /// The number of weights: 124,439,808 for GPT-2 124M. If wte is also the lm_head, its weights
  /// count once.
  [[nodiscard]] std::size_t parameter_count() const noexcept;

  /// The type of lm_head in memory, never `stored`. The other matrices have the same type unless
  /// the files mix types.
  [[nodiscard]] WeightType weight_type() const noexcept;

  /// The number of bytes of weights that a forward pass over one token reads. Such a pass takes at
  /// least as long as the machine needs to read these bytes from memory.
  [[nodiscard]] std::size_t bytes_per_token() const noexcept;

  /// The files, formats and types that the model was loaded from. Lives as long as the weights do.
  [[nodiscard]] const ModelDescription& description() const noexcept;

  /// For the library's own use: programs get a model from load(). REQUIRES: not a null pointer.
  explicit Model(std::shared_ptr<const Transformer> transformer)
      : transformer_(std::move(transformer)) {}
  [[nodiscard]] const std::shared_ptr<const Transformer>& transformer() const noexcept {
    return transformer_;
  }

 private:
  std::shared_ptr<const Transformer> transformer_;
};

/// Writes a model whose weights are int8 or int4 to a new directory, which Model::load can map
/// without converting anything. The directory has model.safetensors, a config.json that records the
/// type of quantization, and copies of generation_config.json and the tokenizer's files from
/// `source`. If `source` has no generation_config.json, its config.json is written in its place,
/// because older models keep the same keys there. Only this engine reads such a directory.
///
/// `out` is the directory to write; missing parent directories are created. The files are written
/// to a temporary directory next to `out`, which is renamed at the end, so that `out` is never
/// incomplete. Calls `progress`, unless it is empty, before each tensor with the share of the
/// weights' bytes that have been written. To cancel, throw an exception from `progress`: everything
/// written is removed, and the exception reaches the caller.
///
/// `source` is the directory, or a file in it, that the model was loaded from. For an adapter, the
/// other files are those of find_places (model_files.h). Unless `tokenizer` is empty, the files of
/// the tokenizer that Tokenizer::load(tokenizer) loads are copied instead of the model's.
///
/// Throws Error(invalid_argument) if the model's weights are not quantized or `out` exists already
/// (see require_new_directory), and Error(invalid_file) if reading or writing fails. In either
/// case, no files are left behind. Cost: writes as many bytes as the weights take.
///
/// Example:
///   const Model quantized = Model::load("models/gpt2-stories", {.dtype = WeightType::int4});
///   save_quantized(quantized, "models/gpt2-stories", "models/gpt2-stories-int4");
void save_quantized(const Model& model, const std::filesystem::path& source,
                    const std::filesystem::path& out,
                    const std::function<void(double share)>& progress = {},
                    const std::filesystem::path& tokenizer = {});

/// Throws the error that save_quantized() would throw because of `out`, so that a program can check
/// the directory before long work: Error(invalid_argument) if `out` exists already, or if its name
/// is empty, "." or ".."; Error(invalid_file) if it cannot be created. If `out` is a symbolic link
/// to something that does not exist, the directory is its target. To find out, creates a directory
/// with another name next to it and removes it again.
///
/// Example:
///   require_new_directory("models/gpt2-int8");
void require_new_directory(const std::filesystem::path& out);

/// A tensor of a model: a matrix, a bias or the parameters of a LayerNorm. It refers to the memory
/// of the model, which is not copied.
struct NamedWeight {
  /// HuggingFace's name without the prefix "transformer.": "wte.weight", "h.0.ln_1.bias" and so on.
  std::string name;

  /// The shape that the tensor has in files, row-major. HuggingFace's linear layers (Conv1D) have a
  /// row for each input feature: h.0.attn.c_attn.weight is (n_embd, 3 * n_embd). In a checkpoint
  /// of nanoGPT, they have a row for each output feature. The shape of an int8 or int4 matrix is
  /// that of its blocks, whose layout belongs to the library.
  std::vector<std::size_t> shape;

  /// The type of the elements, never `stored`. The parameters of LayerNorm and the biases are f32.
  WeightType type;

  /// The elements, at any alignment. They live as long as the model or one of its copies.
  std::span<const std::byte> bytes;
};

/// Returns all tensors of the model, in the order wte, wpe, the blocks from the first to the last,
/// ln_f. The head, lm_head.weight, is listed only if it is not tied to wte. A bias that the
/// checkpoint does not have is not listed.
///
/// Any thread may call it. Cost: allocates the list. Throws std::bad_alloc.
///
/// Example:
///   for (const NamedWeight& weight : weights_of(model)) {
///     std::cout << weight.name << ": " << weight.bytes.size() << " bytes\n";
///   }
[[nodiscard]] std::vector<NamedWeight> weights_of(const Model& model);

}  // namespace gnu::visibility("default")]]gpt2
