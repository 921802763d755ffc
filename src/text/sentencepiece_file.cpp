#include "text/sentencepiece_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/bytes.h"
#include "base/fail.h"
#include "text/vocabulary.h"

namespace gpt2 {
namespace {

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
    const std::uint64_t type = field & 7;
    if (type == kVarint) {
      number = varint();
    } else if (type == kLength) {
      content = take(varint());
    } else if (type == kFixed64 || type == kFixed32) {
      content = take(type == kFixed64 ? 8 : 4);
    } else {
      fail(where, "not a file of SentencePiece: a field has the wire type ", type);
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
      const Bytes bytes = std::as_bytes(std::span(field.content));
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
    field.read(42, file.eos_id);
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
  const auto is_unknown = [](const Piece& piece) { return piece.kind == Piece::Kind::unknown; };
  const auto unknown = std::ranges::find_if(file.pieces, is_unknown);
  if (const auto n = std::ranges::count_if(file.pieces, is_unknown); n != 1) {
    fail(where, "not a file of SentencePiece: ", n, " of ", file.pieces.size(),
         " pieces have the type UNKNOWN; expected one");
  }
  file.options.unknown = static_cast<TokenId>(unknown - file.pieces.begin());
  file.normalizer.user_defined = user_defined_pieces(file.pieces);
  return file;
}

}  // namespace gpt2
