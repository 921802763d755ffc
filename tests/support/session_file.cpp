#include "support/session_file.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "support/bytes.h"

namespace gpt2::test {

StateFields fields_of(const std::string& bytes) {
  const auto word = [&](std::size_t i) {
    return load_little_endian<std::uint64_t>(as_bytes(bytes), 8 * i);
  };
  StateFields fields = {.version = word(1),
                        .weight_type = bytes.substr(16, 8),
                        .kv_type = bytes.substr(24, 8),
                        .model = word(4),
                        .n_layer = word(5),
                        .n_head = word(6),
                        .head_dim = word(7),
                        .computed = word(9),
                        .dropped = word(10),
                        .written = word(11),
                        .tokens = {},
                        .cache = {}};
  std::size_t at = 96;
  for (std::size_t i = 0; i < word(8); ++i, at += 4) {
    const auto token = load_little_endian<std::uint32_t>(as_bytes(bytes), at);
    fields.tokens.push_back(static_cast<TokenId>(token));
  }
  fields.cache = bytes.substr(at, bytes.size() - 8 - at);
  return fields;
}

std::string bytes_of(const StateFields& fields) {
  std::string bytes =
      "gpt2sess" + little_endian(fields.version) + fields.weight_type + fields.kv_type;
  for (const std::uint64_t word :
       {fields.model, fields.n_layer, fields.n_head, fields.head_dim,
        std::uint64_t{fields.tokens.size()}, fields.computed, fields.dropped, fields.written}) {
    bytes += little_endian(word);
  }
  for (const TokenId token : fields.tokens) {
    bytes += little_endian(static_cast<std::uint32_t>(token));
  }
  return with_checksum(bytes + fields.cache + std::string(8, '\0'));
}

std::string with_checksum(const std::string& bytes) {
  if (bytes.size() < 8) return bytes;
  const std::string contents = bytes.substr(0, bytes.size() - 8);
  Hash hash;
  hash.add(as_bytes(contents));
  return contents + little_endian(hash.value());
}

}  // namespace gpt2::test
