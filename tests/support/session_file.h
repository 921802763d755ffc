#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpt2/types.h"

namespace gpt2::test {

/// The fields of a session file, for tests that write such files themselves.
struct StateFields {
  std::uint64_t version;
  std::string weight_type;  ///< 8 bytes
  std::string kv_type;      ///< 8 bytes
  std::uint64_t model;
  std::uint64_t n_layer;
  std::uint64_t n_head;
  std::uint64_t head_dim;
  std::uint64_t computed;
  std::uint64_t dropped;
  std::uint64_t written;
  std::vector<TokenId> tokens;
  std::string cache;  ///< the bytes of keys and values
};

/// Reads the fields of a file that save_session() has written.
[[nodiscard]] StateFields fields_of(const std::string& bytes);

/// Returns the bytes of a file with these fields and a correct checksum.
[[nodiscard]] std::string bytes_of(const StateFields& fields);

/// Returns the bytes with the last eight replaced by the checksum of the others.
[[nodiscard]] std::string with_checksum(const std::string& bytes);

}  // namespace gpt2::test
