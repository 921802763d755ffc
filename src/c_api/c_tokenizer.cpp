#include "c_api/arguments.h"
#include "c_api/handles.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "gpt2/model_files.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {

void set_defaults(gpt2_encode_options& options) {
  const EncodeOptions defaults;
  options.parse_special = defaults.parse_special;
  options.add_special_tokens = defaults.add_special_tokens;
}

namespace {

std::unique_ptr<gpt2_tokenizer> make_tokenizer(Tokenizer loaded) {
  auto made = std::unique_ptr<gpt2_tokenizer>(
      new gpt2_tokenizer{.tokenizer = std::move(loaded), .info = {}});
  const Tokenizer& tokenizer = made->tokenizer;
  made->info = {.n_tokens = tokenizer.size(),
                .end_of_text = tokenizer.end_of_text().value_or(-1),
                .description = tokenizer.description().c_str(),
                .vocab_size = tokenizer.vocab_size()};
  return made;
}

}  // namespace

std::optional<Tokenizer> optional_tokenizer(const gpt2_tokenizer* tokenizer) {
  if (tokenizer == nullptr) return std::nullopt;
  return checked(tokenizer).tokenizer;
}

}  // namespace gpt2::c_api

gpt2_status gpt2_tokenizer_load(const char* name, gpt2_tokenizer** out) {
  return guard_new(out, [&] {
    const auto path = gpt2::find_model(c_string(name, "the name of the model"));
    return make_tokenizer(gpt2::Tokenizer::load(path));
  });
}

gpt2_status gpt2_tokenizer_load_memory(const gpt2_memory_file* files, size_t n_files,
                                       gpt2_tokenizer** out) {
  return guard_new(out,
                   [&] { return make_tokenizer(gpt2::Tokenizer::load(files_of(files, n_files))); });
}

gpt2_status gpt2_tokenizer_encode(const gpt2_tokenizer* tokenizer, const char* text, size_t n_bytes,
                                  const gpt2_encode_options* options, gpt2_ids** out) {
  return guard_new(out, [&] {
    const gpt2_encode_options given = options_of(options);
    return make_ids(checked(tokenizer).tokenizer.encode(
        text_of(text, n_bytes, "the text"), {.parse_special = given.parse_special != 0,
                                             .add_special_tokens = given.add_special_tokens != 0}));
  });
}

gpt2_status gpt2_tokenizer_decode(const gpt2_tokenizer* tokenizer, const gpt2_token* ids,
                                  size_t n_ids, gpt2_bytes** out) {
  return guard_new(out, [&] {
    return make_bytes(checked(tokenizer).tokenizer.decode(span_of(ids, n_ids, "the list of ids")));
  });
}

gpt2_status gpt2_tokenizer_token_bytes(const gpt2_tokenizer* tokenizer, gpt2_token id,
                                       const char** data, size_t* n_bytes) {
  return guard([&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    require(data, "the output pointer `data`");
    require(n_bytes, "the output pointer `n_bytes`");
    const std::string_view bytes = text.bytes(id);
    *data = bytes.data();
    *n_bytes = bytes.size();
  });
}

gpt2_status gpt2_tokenizer_is_special(const gpt2_tokenizer* tokenizer, gpt2_token id,
                                      int32_t* is_special) {
  return guard([&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    require(is_special, "the output pointer `is_special`");
    *is_special = text.is_special(id);
  });
}

gpt2_status gpt2_tokenizer_find(const gpt2_tokenizer* tokenizer, const char* content,
                                size_t n_bytes, gpt2_token* id) {
  return guard([&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    require(id, "the output pointer `id`");
    *id = text.find(text_of(content, n_bytes, "the content")).value_or(-1);
  });
}

gpt2_status gpt2_tokenizer_require_match(const gpt2_tokenizer* tokenizer, const gpt2_model* model) {
  return guard([&] { checked(tokenizer).tokenizer.require_match(checked(model).model.config()); });
}

const gpt2_tokenizer_info* gpt2_tokenizer_get_info(const gpt2_tokenizer* tokenizer) {
  return guard_pointer([&] { return &checked(tokenizer).info; });
}

void gpt2_tokenizer_free(gpt2_tokenizer* tokenizer) { release(tokenizer); }
