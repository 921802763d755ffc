// Tests where -m looks for a model that is named by a directory, by a file or by a model name.
#include "base/system/process.h"
#include "support/model_places.h"
#include "support/test.h"

namespace gpt2::test::find_model_test {

namespace fs = std::filesystem;

TEST_CASE("-m takes a directory, or a file in it") {
  const ModelPlaces places;
  const std::string whole = (places.root() / "the_model").generic_string();
  const Words names = {"the_model", "./the_model/", whole, "the_model/config.json",
                       "the_model/model.safetensors"};
  for (const std::string& name : names) {
    CHECK(places.found(name) == name);
  }
  CHECK(run({"info", "-m", "model.safetensors"}, {.directory = whole}).status == 0);
}

TEST_CASE("a name is looked for in models/ and in $GPT2_MODELS") {
  const ModelPlaces places;
  places.link("models/story");
  places.link("models/owner/tale");
  places.link("mine/fable");
  CHECK(places.found("story") == "models/story");
  CHECK(places.found("owner/tale") == "models/owner/tale");
  CHECK(places.found("fable").starts_with("gpt2: no model 'fable'"));
  const std::string mine = (places.root() / "mine").generic_string();
  CHECK(places.found("fable", {"GPT2_MODELS=" + mine}) == mine + "/fable");
  CHECK(places.found("fable", {"GPT2_MODELS=~/mine", "HOME=" + places.root().generic_string()}) ==
        mine + "/fable");
}

TEST_CASE("no model in the working directory takes the place of the bundled one") {
  const ModelPlaces places;
  const Words info = {"info", "-m", "gpt2-stories"};
  const Outcome expected = run(info, {.directory = places.root()});
  CHECK(expected.status == 0);
  for (const std::string place : {"models/gpt2-stories", "gpt2-stories"}) {
    places.link(place);
    const Outcome found = run(info, {.directory = places.root()});
    CHECK(found.out == expected.out);
    CHECK(places.found("./" + place) == "./" + place);
  }
}

TEST_CASE("a model that is missing is refused with the places where it was looked for") {
  const TemporaryDirectory directory;
  const std::string root = fs::canonical(directory.path()).string();
  const std::string hub = fs::path(".cache/huggingface/hub").make_preferred().string();
  check_refused({"-m", "no-such-model", "x"}, 1,
                {"no model 'no-such-model': fetch it with 'gpt2 download no-such-model'", "models",
                 "/own", "$GPT2_MODELS", hub},
                {.directory = root, .environment = {"HOME=" + root, "GPT2_MODELS=/own"}});
  check_refused({"tokenize", "-m", "/no/such/directory", "x"}, 1,
                {"/no/such/directory", "a model's directory or a file of weights"});
  // A copied command has no bundled model.
  fs::create_directory(root + "/bin");
  fs::copy(command_path(), root + "/bin/gpt2");
  check_refused({"x"}, 1,
                {"gpt2: no model 'gpt2-stories': set $GPT2_MODELS to what ", hub,
                 (root / fs::path("share/gpt2/models")).make_preferred().string()},
                {.directory = "/",
                 .environment = {"HOME=" + root, "GPT2_MODELS="},
                 .program = root + "/bin/gpt2"});
}

TEST_CASE("info without a model lists the models that have a name") {
  const ModelPlaces places;
  places.link("models/story");
  places.write("models/no_model/main.c", "");
  places.link("mine/fable");
  for (const std::string name : {"owner--tale", "gpt2"}) places.cache("hub/models--" + name);
  places.write("hub/models--owner--unfinished/refs/main", kCommit);
  places.write("hub/models--owner--damaged/refs/main", std::string(1000, 'x'));
  const std::string root = places.root().generic_string();
  const Outcome outcome =
      run({"info"},
          {.directory = places.root(),
           .environment = {"HF_HUB_CACHE=" + root + "/hub", "GPT2_MODELS=" + root + "/mine"}});
  CHECK(outcome.status == 0);
  CHECK(
      outcome.out.starts_with("model        fable\nmodel        gpt2\n"
                              "model        gpt2-stories\nmodel        owner/tale\n"
                              "model        story\nmodel        the_model\nisa  "));
}

TEST_CASE("without HOME, no cache is looked for in the working directory") {
  const ModelPlaces places;
  places.cache(".cache/huggingface/hub/models--mine");
  const std::string home = "HOME=" + places.root().generic_string();
  CHECK(places.found("mine", {home}).find("snapshots") != std::string::npos);
  const std::string message = places.found("mine", {"HOME="});
  CHECK(message.starts_with("gpt2: no model 'mine': "));
  CHECK(message.find("$" + std::string(gpt2::kHomeVariable) + " is not set") != std::string::npos);
  places.link("below/fable");
  CHECK(places.found("fable", {"HOME=", "GPT2_MODELS=~/below"}).starts_with("gpt2: no model"));
}

TEST_CASE("a file or a directory without a model does not hide the model of that name") {
  const ModelPlaces places;
  places.link("models/story");
  places.write("story", "a text, for example");
  CHECK(places.found("story") == "models/story");
  places.link("models/gpt2");
  places.write("gpt2/main.c", "");
  CHECK(places.found("gpt2") == "models/gpt2");
  // nanoGPT's checkpoints need no config.json.
  places.write("models/nano/ckpt.pt", "");
  places.write("nano/main.c", "");
  CHECK(places.found("nano").starts_with(
      "gpt2: " + (fs::path("models") / "nano" / "ckpt.pt").string() + ": "));
  // If there is no model of that name, the loader says what the directory lacks.
  places.write("mine/main.c", "");
  for (const std::string name : {"mine", "."}) {
    CHECK(places.found(name).starts_with("gpt2: " + name + ": no config.json; "));
  }
  places.write("llama/model.gguf", "GGUF");  // is found, so that the loader can refuse it
  CHECK(places.found("llama").starts_with("gpt2: llama"));
}

TEST_CASE("a name is looked for in the HuggingFace cache") {
  const ModelPlaces places;
  const fs::path repository = "hub/models--openai-community--gpt2";
  const std::string cache = "HF_HUB_CACHE=" + (places.root() / "hub").generic_string();
  const std::string snapshot = places.cache(repository), old = places.cache("hub/models--gpt2-xl");
  places.write(repository / "refs/refs/pr/1", kCommit + "\n");
  for (const std::string& name :
       Words{"openai-community/gpt2", "gpt2", "gpt2@main", "gpt2@refs/pr/1", "gpt2@" + kCommit}) {
    CHECK(places.found(name, {cache}) == snapshot);
  }
  CHECK(places.found("openai-community/gpt2-xl", {cache}) == old);
  for (const char* const home : {"$PLACE", "${PLACE}"}) {
    const std::string place = "PLACE=" + places.root().generic_string();
    CHECK(places.found("gpt2", {"HF_HUB_CACHE=", "HF_HOME=" + std::string(home), place}) ==
          snapshot);
  }
  for (const std::string name :
       {"gpt2@v2", "gpt3", "gpt2@../main", "other/gpt2", "gpt2@", "@main"}) {
    CHECK(places.found(name, {cache}).starts_with("gpt2: no model '" + name + "'"));
  }
}

TEST_CASE("HuggingFace's environment variables say where the cache is") {
  const ModelPlaces places;
  const std::string root = places.root().generic_string();
  const std::string in_home = places.cache("home/.cache/huggingface/hub/models--tiny");
  const std::string in_xdg = places.cache("xdg/huggingface/hub/models--tiny");
  const std::string below_home = places.cache("home/hub/models--tiny");
  const std::string in_hf_home = places.cache("hf/hub/models--tiny");
  const std::string in_hub = places.cache("cache/models--tiny");
  Words environment = {"HOME=" + root + "/home"};
  CHECK(places.found("tiny", environment) == in_home);
  environment.push_back("XDG_CACHE_HOME=" + root + "/xdg");
  CHECK(places.found("tiny", environment) == in_xdg);
  environment.push_back("HF_HOME=~");
  CHECK(places.found("tiny", environment) == below_home);
  environment.back() = "HF_HOME=" + root + "/hf";
  CHECK(places.found("tiny", environment) == in_hf_home);
  environment.push_back("HF_HUB_CACHE=" + root + "/cache");
  CHECK(places.found("tiny", environment) == in_hub);
}

TEST_CASE("a reference that leads out of the cache is not followed, nor one of zeros") {
  const ModelPlaces places;
  places.write("hub/models--evil/refs/main", "../../../the_model");
  places.link("hub/models--zeros/snapshots/" + kCommit);
  places.write("hub/models--zeros/refs/main", std::string(40, '\0'));  // as after a crash
  for (const std::string name : {"evil", "zeros"}) {
    CHECK(places.found(name, {"HF_HUB_CACHE=" + (places.root() / "hub").generic_string()})
              .starts_with("gpt2: no model '" + name + "'"));
  }
}

}  // namespace gpt2::test::find_model_test
