#pragma once

#include <nlohmann/json.hpp>
#include <utility>

namespace gpt2 {

/// Removes everything from the tree without allocating memory. (To destroy an array or object that
/// is not empty, the JSON library allocates memory, and it ends the process if there is none.) The
/// depth of the recursion is that of the tree, which JsonLimits bounds.
template <class Json>
void clear_tree(Json& tree) noexcept {
  if (!tree.is_structured()) return;
  for (Json& child : tree) clear_tree(child);
  tree.clear();
}

/// A JSON tree that can be destroyed when there is no memory left. Code that reads files and
/// requests must not hold or copy arrays and objects in any other way. In particular, it must not
/// construct them from nested braces, because these make temporary arrays.
template <class Json>
class JsonDocument {
 public:
  JsonDocument() = default;
  explicit JsonDocument(Json&& tree) noexcept : root(std::move(tree)) {}
  JsonDocument(JsonDocument&& other) noexcept : root(std::move(other.root)) {}
  JsonDocument& operator=(JsonDocument&&) = delete;
  ~JsonDocument() { clear_tree(root); }

  Json root;
};

}  // namespace gpt2
