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

/// Receives a JSON text piece by piece; may throw.
class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  virtual void begin(nlohmann::json::value_t kind) = 0;  ///< object or array
  virtual void key(std::string& name) = 0;  ///< may be moved from; repeats are not noticed
  virtual void scalar(nlohmann::json value) = 0;
  virtual void end() = 0;
};

/// Builds the tree of what it receives. A handler that takes the bulk of a text itself can leave
/// the rest to one of these.
class JsonTree final : public JsonHandler {
 public:
  /// `where` must outlive it.
  explicit JsonTree(std::string_view where) : where_(where) {}

  void begin(nlohmann::json::value_t kind) override { open_.push_back(&add(kind)); }
  void key(std::string& name) override;  ///< throws Error(invalid_file) for a repeated one
  void scalar(nlohmann::json value) override { add(std::move(value)); }
  void end() override { open_.pop_back(); }

  nlohmann::json root;

 private:
  nlohmann::json& add(nlohmann::json value);

  std::string_view where_;
  std::vector<nlohmann::json*> open_;  // outermost first
  nlohmann::json* member_ = nullptr;   // whose key came last
};

/// parse_json for those who need no tree.
void read_json(std::string_view text, std::string_view where, JsonHandler& handler,
               JsonLimits limits = {});

}  // namespace gpt2
