#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpt2 {

/// The whole of a text file. Throws Error as MappedFile does, and Error(invalid_file) where it has
/// more than `max_bytes`, before anything is allocated.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

struct JsonLimits {
  std::size_t max_depth = 128;         ///< arrays and objects inside one another
  std::size_t max_values = 4'000'000;  ///< of every kind together; one takes up to 100 bytes
};

/// Strict JSON (RFC 8259): valid UTF-8, no comments, nothing after the value, no name twice in one
/// object. `where` (the file) begins every message. Throws Error(invalid_file) with the place, and
/// no exception of the JSON library. Takes no recursion, and memory in proportion to the text.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, std::string_view where,
                                        JsonLimits limits = {});

/// How a message shows a value: short, on one line.
[[nodiscard]] std::string shown(const nlohmann::json& value);

/// Receives a JSON text piece by piece and builds its tree. A class that takes the bulk of a text
/// itself overrides what receives it, which may throw, and leaves the rest to this one.
class JsonTree {
 public:
  /// `where` must outlive it.
  explicit JsonTree(std::string_view where) : where_(where) {}
  virtual ~JsonTree() = default;

  /// parse_json; the tree is `root`.
  void read(std::string_view text, JsonLimits limits = {});

  virtual void begin(nlohmann::json::value_t kind) { open_.push_back(&add(kind)); }
  virtual void key(std::string& name);  ///< throws Error(invalid_file) for a repeated one
  virtual void scalar(nlohmann::json value) { add(std::move(value)); }
  virtual void end() { open_.pop_back(); }

  nlohmann::json root;

 protected:
  const std::string_view where_;

 private:
  nlohmann::json& add(nlohmann::json value);

  std::vector<nlohmann::json*> open_;  // outermost first
  nlohmann::json* member_ = nullptr;   // whose key came last
};

}  // namespace gpt2
