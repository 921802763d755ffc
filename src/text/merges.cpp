#include "text/merges.h"

#include "base/quote.h"
#include "gpt2/error.h"
#include "text/byte_alphabet.h"

namespace gpt2 {

bool MergeList::add(std::string_view left, std::string_view right) {
  if (pairs_.size() == MergeTable::kMaxMerges) {
    fail("expected at most " + std::to_string(MergeTable::kMaxMerges) + " merges, found more");
  }
  const std::size_t begin = bytes_.size();
  if (left.empty() || right.empty() || !append_spelled_bytes(bytes_, left)) return false;
  const std::size_t middle = bytes_.size();
  if (!append_spelled_bytes(bytes_, right)) return false;
  pairs_.push_back({begin, middle - begin, bytes_.size() - begin});
  return true;
}

bool MergeList::add(std::string_view line) {
  const std::size_t space = line.find(' ');  // a second one is outside of the alphabet
  return space != line.npos && add(line.substr(0, space), line.substr(space + 1));
}

void MergeList::add_lines(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = text.find('\n');
    std::string_view line = text.substr(0, length);
    text.remove_prefix(length == text.npos ? text.size() : length + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    if (!add(line)) {
      fail("line " + std::to_string(number) + ": expected two tokens in the byte alphabet and a " +
           "space between them, found " + quote(line));
    }
  }
}

MergeTable MergeList::resolve(const Vocabulary& vocabulary) const {
  MergeTable table(pairs_.size());
  for (std::size_t rank = 0; rank < pairs_.size(); ++rank) {
    const Pair& pair = pairs_[rank];
    const std::string_view both = std::string_view(bytes_).substr(pair.begin, pair.length);
    const std::string_view left = both.substr(0, pair.left_length);
    const std::string_view right = both.substr(pair.left_length);
    const auto id_of = [&](std::string_view token) {
      if (const auto id = vocabulary.find_bytes(token)) return *id;
      fail("merge " + std::to_string(rank + 1) + ", " + quote(left) + " with " + quote(right) +
           ": expected only tokens of the vocabulary, found " + quote(token));
    };
    const TokenId left_id = id_of(left);
    const TokenId right_id = id_of(right);
    table.push_back(left_id, right_id, id_of(both));
  }
  return table;
}

void MergeList::fail(const std::string& message) const {
  throw Error(ErrorCode::invalid_file, where_ + ": " + message);
}

}  // namespace gpt2
