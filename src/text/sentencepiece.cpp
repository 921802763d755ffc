#include <bit>
#include <cmath>

#include <utf8proc.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

// What takes the place of the beginning of a text.
Precompiled::Match first_match(const SentencePieceNormalizer& rules, std::string_view text) {
  if (const std::size_t length = rules.user_defined.longest_prefix(text).length; length > 0) {
    return {text.substr(0, length), length};
  }
  const Precompiled::Match match = rules.precompiled_charsmap.match(text);
  if (match.length > 0) return match;
  const Utf8Char c = decode_utf8(text);
  if (c.kind != Utf8Char::Kind::valid) return {kReplacementCharacter, 1};
  return {text.substr(0, c.length), c.length};
}

// The wire types of protobufs.
constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;

// Reads the fields of a message of a protobuf, one after another.
struct FieldReader {
  std::string_view rest;
  std::string_view where;
  std::uint64_t field = 0;  // the number of the field, times 8, plus its wire type
  std::uint64_t number = 0;
  std::string_view content = {};

  // Goes to the next field. Returns false at the end of the message.
  bool next() {
    if (rest.empty()) return false;
    field = varint();
    switch (field & 7) {
      case kVarint: number = varint(); break;
      case kFixed64: content = take(8); break;
      case kLength: content = take(varint()); break;
      case kFixed32: content = take(4); break;
      default: fail(where, "not a file of SentencePiece: a field has the wire type ", field & 7);
    }
    return true;
  }

  std::string_view take(std::uint64_t length) {
    if (length > rest.size()) {
      fail(where, "the file is damaged: a field should have ", length, " more bytes, but ",
           rest.size(), " follow; download it again");
    }
    const std::string_view taken = rest.substr(0, length);
    rest.remove_prefix(length);
    return taken;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail(where, "the file is damaged: a number takes more than ten bytes; download it again");
  }

  // A field with another wire type counts as another field.
  [[nodiscard]] bool is(std::uint64_t field_number, std::uint64_t type) const {
    return field == (field_number << 3 | type);
  }

  template <class T>
  void read(std::uint64_t field_number, T& value) const {
    if (is(field_number, kVarint)) value = static_cast<T>(number);
  }
};

Piece read_piece(std::string_view message, std::size_t id, std::string_view where) {
  Piece piece;
  int kind = static_cast<int>(Piece::Kind::normal);
  for (FieldReader field = {message, where}; field.next();) {
    if (field.is(1, kLength)) piece.text = field.content;
    if (field.is(2, kFixed32)) {
      const Bytes bytes = bytes_of_text(field.content);
      piece.score = std::bit_cast<float>(load_little_endian<std::uint32_t>(bytes));
    }
    field.read(3, kind);
  }
  piece.kind = static_cast<Piece::Kind>(kind);
  if (piece.text.empty() || piece.text.size() > PieceTrie::kMaxPieceBytes ||
      !std::isfinite(piece.score) || kind < 1 || kind > 6) {
    fail(where, "piece ", id, " has ", piece.text.size(), " bytes, the score ", piece.score,
         " and the type ", kind, "; expected 1 to ", PieceTrie::kMaxPieceBytes,
         " bytes, a finite score and a type from 1 to 6");
  }
  return piece;
}

void read_trainer_spec(std::string_view message, std::string_view where, SentencePieceFile& file) {
  int type = 1;
  for (FieldReader field = {message, where}; field.next();) {
    field.read(3, type);
    field.read(24, file.normalizer.treat_whitespace_as_suffix);
    field.read(35, file.options.byte_fallback);
  }
  file.options.is_bpe = type == 2;
  if (type == 1 || type == 2) return;
  fail(ErrorCode::unsupported, where, "model_type is ", type,
       "; gpt2.cpp implements 1 (Unigram) and 2 (BPE)");
}

void read_normalizer_spec(std::string_view message, std::string_view where,
                          SentencePieceNormalizer& normalizer) {
  for (FieldReader field = {message, where}; field.next();) {
    if (field.is(2, kLength)) normalizer.precompiled_charsmap = Precompiled(field.content, where);
    field.read(3, normalizer.add_dummy_prefix);
    field.read(4, normalizer.remove_extra_whitespaces);
    field.read(5, normalizer.escape_whitespaces);
  }
}

}  // namespace

Precompiled::Precompiled(std::string_view table, std::string_view where) {
  if (table.empty()) return;
  const Bytes bytes = bytes_of_text(table);
  constexpr std::size_t kUnit = sizeof(std::uint32_t);
  const std::size_t size = table.size() < kUnit ? 0 : load_little_endian<std::uint32_t>(bytes);
  if (size < kUnit || size % kUnit != 0 || size > table.size() - kUnit) {
    fail(where, "precompiled_charsmap has ", table.size(), " bytes, but a trie of ", size);
  }
  for (std::size_t at = kUnit; at < kUnit + size; at += kUnit) {
    units_.push_back(load_little_endian<std::uint32_t>(bytes, at));
  }
  replacements_ = table.substr(kUnit + size);
}

// The trie is a double array of darts-clone. Each place is checked, because a file may have any.
Precompiled::Match Precompiled::match(std::string_view text, bool is_shortest) const noexcept {
  constexpr std::uint32_t kIsValue = std::uint32_t{1} << 31;
  const auto children = [](std::uint32_t unit) -> std::size_t {
    return (unit >> 10) << ((unit & 0x200) >> 6);
  };
  std::size_t value = 0;
  std::size_t length = 0;
  std::size_t node = units_.empty() ? 0 : children(units_[0]);
  text = text.substr(0, kMaxBytes);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || (units_[node] & (kIsValue | 0xff)) != byte) break;
    const bool has_value = (units_[node] & 0x100) != 0;
    node ^= children(units_[node]);
    if (!has_value || node >= units_.size()) continue;
    value = units_[node] & ~kIsValue;
    length = i + 1;
    if (is_shortest) break;
  }
  if (length == 0 || value >= replacements_.size()) return {{}, length};
  const std::string_view rest = std::string_view(replacements_).substr(value, kMaxBytes);
  return {rest.substr(0, rest.find('\0')), length};
}

std::size_t Precompiled::rewrite(std::string_view text, std::size_t at, std::string& out) const {
  std::size_t length = 0;
  utf8proc_int32_t previous = 0;
  utf8proc_int32_t state = 0;
  while (at + length < text.size()) {
    const Utf8Char next = decode_utf8(text.substr(at + length));
    const auto code_point = static_cast<utf8proc_int32_t>(next.code_point);
    if (length > 0 && utf8proc_grapheme_break_stateful(previous, code_point, &state)) break;
    length += next.length;
    previous = code_point;
  }
  const std::string_view grapheme = text.substr(at, length);
  if (const Match rule = match(grapheme, /*is_shortest=*/true); length < 6 && rule.length > 0) {
    out += rule.replacement;
    return length;
  }
  for (std::string_view rest = grapheme; !rest.empty();) {
    const std::string_view character = rest.substr(0, decode_utf8(rest).length);
    const Match rule = match(character, /*is_shortest=*/true);
    out += rule.length > 0 ? rule.replacement : character;
    rest.remove_prefix(character.size());
  }
  return length;
}

// As Normalizer::Normalize of SentencePiece 0.1.97.
TextView SentencePieceNormalizer::normalize(const TextView& text, bool with_origins,
                                            TextBuffer& buffer, std::size_t& left) const {
  const std::string_view space = escape_whitespaces ? "\xe2\x96\x81" : " ";
  std::string& out = buffer.text;
  std::vector<TextRange>& origins = buffer.origins;
  out.clear();
  origins.clear();
  const auto append = [&](std::string_view part, TextRange range) {
    spend(left, part.size());
    out += part;
    if (with_origins) origins.resize(out.size(), range);
  };
  bool is_after_space = remove_extra_whitespaces;
  for (std::string_view rest = text.text; !rest.empty();) {
    auto [part, length] = first_match(*this, rest);
    const std::size_t at = text.text.size() - rest.size();
    rest.remove_prefix(length);
    while (is_after_space && part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) continue;
    is_after_space = remove_extra_whitespaces && part.ends_with(' ');
    const TextRange range = text.range(at, at + length);
    const bool has_prefix = out.empty() && add_dummy_prefix && !treat_whitespace_as_suffix;
    if (has_prefix) append(space, {range.begin, range.begin});
    while (!part.empty()) {
      const std::size_t unchanged = std::min(part.find(' '), part.size());
      append(unchanged > 0 ? part.substr(0, unchanged) : space, range);
      part.remove_prefix(std::max<std::size_t>(unchanged, 1));
    }
  }
  while (remove_extra_whitespaces && out.ends_with(space)) out.resize(out.size() - space.size());
  if (with_origins) origins.resize(out.size());
  const std::size_t end = origins.empty() ? 0 : origins.back().end;
  const bool has_suffix = !out.empty() && add_dummy_prefix && treat_whitespace_as_suffix;
  if (has_suffix) append(space, {end, end});
  return {out, with_origins ? origins.data() : nullptr, text.begin};
}

SentencePieceFile read_sentencepiece_file(std::string_view bytes, std::string_view where) {
  SentencePieceFile file;
  file.options.float_scores = true;
  for (FieldReader field = {bytes, where}; field.next();) {
    if (field.is(1, kLength)) {
      file.pieces.push_back(read_piece(field.content, file.pieces.size(), where));
    }
    if (field.is(2, kLength)) read_trainer_spec(field.content, where, file);
    if (field.is(3, kLength)) read_normalizer_spec(field.content, where, file.normalizer);
    if (file.pieces.size() > Vocabulary::kMaxTokens) {
      fail(where, "there are more than ", Vocabulary::kMaxTokens, " pieces");
    }
  }
  const auto unknown = std::ranges::find(file.pieces, Piece::Kind::unknown, &Piece::kind);
  if (const auto n = std::ranges::count(file.pieces, Piece::Kind::unknown, &Piece::kind); n != 1) {
    fail(where, "not a file of SentencePiece: ", n, " of ", file.pieces.size(),
         " pieces have the type UNKNOWN; expected one");
  }
  file.options.unknown = static_cast<TokenId>(unknown - file.pieces.begin());
  file.normalizer.user_defined = pieces_of({Piece::Kind::user_defined}, file.pieces);
  return file;
}

}  // namespace gpt2
