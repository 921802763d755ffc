#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "gpt2/engine.h"

// The file of a session.
//
// All numbers are little-endian, and the parts follow each other without gaps:
//
//   the header    below
//   the tokens    (tokens), 32 bits each
//   the cache     (n_layer, n_head, 2, computed, head_dim) f32 or f16: keys, then values
//   the checksum  64 bits: the Hash of everything before it

namespace gpt2 {

/// The header, with the same bytes as in the file.
struct SessionHeader {
  char magic[8];
  std::uint64_t version;
  char weight_type[8];  ///< the name of the weights' type, with zeros after it
  char kv_type[8];      ///< the name of the type of keys and values: "f32" or "f16"
  std::uint64_t model;  ///< the fingerprint of the model
  std::uint64_t n_layer;
  std::uint64_t n_head;
  std::uint64_t head_dim;
  std::uint64_t tokens;
  std::uint64_t computed;  ///< how many of the first tokens have keys and values in the file
  std::uint64_t dropped;   ///< how many tokens of the text Session::slide has dropped
  std::uint64_t written;   ///< how many of the last tokens generate() wrote after its prompt
};

/// The parts of a file that has been checked. `tokens` and `cache` point into the mapped file.
struct SessionParts {
  SessionHeader header;
  Bytes tokens;
  Bytes cache;
};

/// Returns the header of a session of this engine that has no tokens.
[[nodiscard]] SessionHeader session_header(const Engine& engine);

/// Whether a file begins as that of a session.
[[nodiscard]] bool has_session_magic(Bytes file);

/// Checks a file and returns its parts. Throws Error(invalid_file), whose message begins with
/// `name`, if it is not the file of a session, has another version, is cut short or is damaged.
[[nodiscard]] SessionParts read_session(Bytes file, const std::string& name);

/// Throws Error(invalid_file) unless the session that was saved had the same weights, and keys and
/// values of the same type, as the sessions of `engine`.
void require_same_model(const SessionHeader& header, const Engine& engine, const std::string& name);

}  // namespace gpt2
