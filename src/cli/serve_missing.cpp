#include "base/fail.h"
#include "cli/commands.h"

// Takes the place of serve.cpp in a build without libmicrohttpd.

namespace gpt2::cli {

int serve(const Arguments&) {
  reject(
      "this gpt2 was built without its server: install libmicrohttpd (Debian: "
      "libmicrohttpd-dev), and build it again");
}

}  // namespace gpt2::cli
