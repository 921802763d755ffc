#include "cli/inspect/npz.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "base/text.h"
#include "cli/npy.h"
#include "gpt2/observed_names.h"

namespace gpt2::cli {
namespace {

constexpr std::string_view kFileMagic = "PK\3\4";
constexpr std::size_t kNameLengthAt = 26, kNameAt = 30;  // in what comes before a file

// Writes a zip archive without compression, as APPNOTE.TXT of PKWARE defines it (version 2.0).
class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& file) : out_(file) {}

  void add(const std::string& name, const std::string& header, std::span<const std::byte> data) {
    const Bytes head = std::as_bytes(std::span(header));
    if (offset_ + header.size() + data.size() > 0xf0000000) {
      reject("--npz: expected arrays of at most 3.75 GiB in all, found more: give a shorter text");
    }
    const std::uint32_t size = static_cast<std::uint32_t>(header.size() + data.size());
    std::string entry;
    append(entry, {20, 0, 0, 0, 0x21}, 2);  // version 2.0, stored, 1980-01-01
    append(entry, {crc32_of(data, crc32_of(head)), size, size}, 4);
    append(entry, {static_cast<std::uint32_t>(name.size()), 0}, 2);
    std::string local(kFileMagic);
    local += entry + name;
    directory_ += "PK\1\2";
    append(directory_, {20}, 2);
    directory_ += entry;
    append(directory_, {0, 0, 0}, 2);
    append(directory_, {0, static_cast<std::uint32_t>(offset_)}, 4);
    directory_ += name;
    ++count_;
    for (const Bytes part : {std::as_bytes(std::span(local)), head, Bytes(data)}) write(part);
  }

  void finish() {
    std::string end = "PK\5\6";
    append(end, {0, 0, count_, count_}, 2);
    append(end,
           {static_cast<std::uint32_t>(directory_.size()), static_cast<std::uint32_t>(offset_)}, 4);
    append(end, {0}, 2);
    write(std::as_bytes(std::span(directory_)));
    write(std::as_bytes(std::span(end)));
    out_.commit();
  }

 private:
  static void append(std::string& text, std::initializer_list<std::uint32_t> numbers, int bytes) {
    for (const std::uint32_t number : numbers) {
      for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
    }
  }
  void write(Bytes bytes) {
    out_.write(bytes);
    offset_ += bytes.size();
  }

  NewFile out_;
  std::size_t offset_ = 0;
  std::uint32_t count_ = 0;
  std::string directory_;
};

// Writes the arrays of a report.
class Arrays {
 public:
  Arrays(const std::filesystem::path& file, const Report& report, const Activations& activations)
      : zip_(file),
        config_(report.model.config()),
        tokens_(report.tokens.size()),
        activations_(activations) {}

  void add_tokens(const std::vector<TokenId>& tokens) {
    const std::size_t shape[] = {tokens.size()};
    zip_.add("tokens.npy", npy_header(shape, "<i4"), std::as_bytes(std::span(tokens)));
  }

  void add(const ObservedName& observed, std::size_t layer) {
    add(name_of(observed.transformer_lens, layer), observed.what, layer);
  }

  // The residual stream before both halves of each block.
  void add_streams() {
    const auto inputs = norm_inputs(activations_, config_);
    for (std::size_t layer = 0; layer < config_.n_layer; ++layer) {
      if (layer > 0) add(concat("blocks.", layer, ".hook_resid_pre"), inputs[2 * layer]);
      add(concat("blocks.", layer, ".hook_resid_mid"), inputs[2 * layer + 1]);
    }
  }

  void finish() { zip_.finish(); }

 private:
  [[nodiscard]] static std::string name_of(std::string_view hook, std::size_t layer) {
    std::string name(hook);
    const std::size_t place = name.find(".N.");
    if (place != std::string::npos) name.replace(place + 1, 1, std::to_string(layer));
    return name;
  }

  void add(const std::string& name, Observed what, std::size_t layer) {
    using enum Observed;
    if (what == attention_weights) return add_pattern(name, layer);
    const std::vector<float>& rows = activations_.rows(what, layer);
    if (what == ln_1_statistics || what == ln_2_statistics || what == ln_f_statistics) {
      std::vector<float> scale;
      for (std::size_t i = 2; i < rows.size(); i += 3) scale.push_back(1.0f / rows[i]);
      return add(name, scale);
    }
    if (what == queries || what == keys || what == values || what == head_outputs) {
      const std::size_t shape[] = {tokens_, config_.n_head, config_.head_dim()};
      return add(name, shape, rows);
    }
    add(name, rows);
  }

  void add(const std::string& name, std::span<const float> rows) {
    const std::size_t shape[] = {tokens_, rows.size() / tokens_};
    add(name, shape, rows);
  }

  // (n_head, tokens, tokens), with zeros for later tokens.
  void add_pattern(const std::string& name, std::size_t layer) {
    std::vector<float> all(config_.n_head * tokens_ * tokens_);
    for (std::size_t head = 0; head < config_.n_head; ++head) {
      const float* row = activations_.rows(Observed::attention_weights, layer, head).data();
      for (std::size_t q = 0; q < tokens_; row += ++q) {
        std::copy_n(row, q + 1, all.data() + (head * tokens_ + q) * tokens_);
      }
    }
    const std::size_t shape[] = {config_.n_head, tokens_, tokens_};
    add(name, shape, all);
  }

  void add(const std::string& name, std::span<const std::size_t> shape,
           std::span<const float> values) {
    zip_.add(name + ".npy", npy_header(shape), std::as_bytes(values));
  }

  ZipWriter zip_;
  const Config& config_;
  std::size_t tokens_;
  const Activations& activations_;
};

}  // namespace

bool is_npz(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const std::string_view bytes = gpt2::text_of(mapped.bytes());
  if (!bytes.starts_with(kFileMagic) || bytes.size() < kNameAt) return false;
  const auto length = load_little_endian<std::uint16_t>(mapped.bytes(), kNameLengthAt);
  return bytes.substr(kNameAt, length).ends_with(".npy");
}

std::set<Observed> all_observed() {
  std::set<Observed> all;
  for (const ObservedName& observed : observed_names()) all.insert(observed.what);
  return all;
}

void write_npz(const std::filesystem::path& file, const Report& report,
               const Activations& activations) {
  const std::size_t n_layer = report.model.config().n_layer;
  Arrays arrays(file, report, activations);
  arrays.add_tokens(report.tokens);
  for (const ObservedName& observed : observed_names()) {
    if (!observed.is_in_block) {
      arrays.add(observed, observed.what == Observed::embeddings ? 0 : n_layer);
      continue;
    }
    for (std::size_t layer = 0; layer < n_layer; ++layer) arrays.add(observed, layer);
  }
  arrays.add_streams();
  arrays.finish();
}

}  // namespace gpt2::cli
