#include "support/requests.h"

#include "support/alphabet_model.h"
#include "support/bundled_model.h"

namespace gpt2::test {
namespace {

json plain(const Json& value) { return json::parse(value.text()); }

}  // namespace

const AskedModel& alphabet() {
  static const AskedModel model = [] {
    const AlphabetModel files;
    return AskedModel{Engine(Model::load(files.path()), {.threads = 1}),
                      Tokenizer::load(files.path())};
  }();
  return model;
}

const AskedModel& alphabet_of_ids() {
  static const AskedModel model = {alphabet().engine, std::nullopt};
  return model;
}

const AskedModel& stories() {
  static const AskedModel model = {Engine(bundled::model(), {.threads = 1}), bundled::tokenizer()};
  return model;
}

Asking::Asking(Door door) : scheduler(door.model.engine, {}), door_(std::move(door)) {}

std::unique_ptr<Run> Asking::begin(const std::string& name, const json& body, RunEvents events) {
  const RunKind& kind = run_kind(name);
  RequestContext context = {door_.model.tokenizer, door_.model.engine.model().config(),
                            door_.defaults};
  context.max_choices = door_.max_choices;
  if (door_.is_dialog) context.chat = ChatForm::dialog;
  return make_run(
      kind, kind.read(json::parse(body.dump()), context),
      {door_.model.engine,
       scheduler,
       door_.model.tokenizer,
       {.id = kind.id_prefix + std::string("1"), .model = "m", .created = 5, .fingerprint = "f"}},
      std::move(events));
}

json answer_of(Run& run) {
  while (run.step()) {
  }
  return plain(run.json());
}

json answer(const std::string& kind, const json& body, const Door& door, RunEvents events) {
  Asking asking(door);
  return answer_of(*asking.begin(kind, body, std::move(events)));
}

std::vector<json> parts(const std::string& kind, json body, const Door& door) {
  body["stream"] = true;
  Asking asking(door);
  const auto run = asking.begin(kind, body);
  std::vector<json> parts;
  for (bool goes_on = true; goes_on;) {
    goes_on = run->step();
    for (const Json& part : run->take_parts()) parts.push_back(plain(part));
  }
  return parts;
}

json refusal(const std::string& kind, const json& body, const Door& door) {
  try {
    static_cast<void>(answer(kind, body, door));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return plain(error_json(error))["error"];
  }
  return nullptr;
}

void check_refusals(const std::string& kind, const std::string& common,
                    const std::vector<Refused>& requests, const Door& door) {
  for (const Refused& request : requests) {
    const bool has_both = !common.empty() && !request.body.empty();
    const std::string text = "{" + common + (has_both ? ", " : "") + request.body + "}";
    CAPTURE(kind, text.substr(0, 300));
    const json error = refusal(kind, json::parse(text), door);
    CAPTURE(error);
    REQUIRE(error.is_object());
    CHECK(error["param"] == request.param);
    CHECK(error["code"] == request.code);
    const std::string message = error["message"];
    CHECK((message.size() < 400 && message.find('\n') == message.npos));
  }
}

}  // namespace gpt2::test
