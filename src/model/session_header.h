#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "gpt2/engine.h"

// The file of a session.
//
// A file has, with all numbers little-endian and nothing between its parts:
//
//   the header    below
//   the tokens    (tokens), 32 bits each
//   the cache     (n_layer, n_head, 2, computed, head_dim) f32 or f16: keys, then values
//   the checksum  64 bits: the Hash of everything before it

namespace gpt2 {

/// The header, as it lies in the file.
struct SessionHeader {
  char magic[8];
  std::uint64_t version;
  char weight_type[8];  ///< its name, with zeros after it
  char kv_type[8];      ///< the name of the type of keys and values: "f32" or "f16"
  std::uint64_t model;  ///< its fingerprint
  std::uint64_t n_layer;
  std::uint64_t n_head;
  std::uint64_t head_dim;
  std::uint64_t tokens;
  std::uint64_t computed;  ///< the first of the tokens, whose keys and values the file has
  std::uint64_t dropped;   ///< the tokens of the text that slides have dropped
  std::uint64_t written;   ///< the last of the tokens, which generate() wrote after its prompt
};

/// The parts of a file that has been checked. They lie in its mapping.
struct SessionParts {
  SessionHeader header;
  Bytes tokens;
  Bytes cache;
};

/// Returns the header of a session of this engine that has no tokens.
[[nodiscard]] SessionHeader session_header(const Engine& engine);

/// Checks that the file is whole and what its own header says. `name` begins every message. Throws
/// Error(invalid_file).
[[nodiscard]] SessionParts read_session(Bytes file, const std::string& name);

/// Throws Error(invalid_file) unless the state was saved by a session of such an engine: the same
/// weights, and keys and values of the same type.
void require_same_model(const SessionHeader& header, const Engine& engine, const std::string& name);

}  // namespace gpt2
