#include "formats/shard_index.h"

#include <algorithm>

#include "base/json.h"
#include "base/quote.h"
#include "gpt2/error.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxIndexBytes = 64 << 20;
constexpr std::size_t kMaxShards = 1'000;

bool is_plain_file_name(const std::string& name) {
  const bool is_clean = std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  return is_clean && !name.empty() && name != "." && name.find("..") == std::string::npos;
}

}  // namespace

ShardIndex read_shard_index(const std::filesystem::path& file) {
  return parse_shard_index(read_file(file, kMaxIndexBytes), file.string());
}

ShardIndex parse_shard_index(std::string_view text, std::string_view where) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorCode::invalid_file, std::string(where) + ": " + message);
  };
  const json root = parse_json(text, where);
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (map == root.end() || !map->is_object()) fail("no \"weight_map\" from tensors to shards");

  ShardIndex index;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) fail("the shard of " + quote(tensor) + " is not a string");
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_file_name(name)) {
      fail("shard " + quote(name) + " is not the plain name of a file beside the index");
    }
    index[name].push_back(tensor);
  }
  if (index.empty()) fail("\"weight_map\" names no shard");
  if (index.size() > kMaxShards) {
    fail(std::to_string(index.size()) + " shards; expected at most " + std::to_string(kMaxShards));
  }
  return index;
}

}  // namespace gpt2
