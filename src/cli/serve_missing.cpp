#include "base/fail.h"
#include "cli/commands.h"

// Takes the place of serve.cpp in a build without libmicrohttpd.

namespace gpt2::cli {

int serve(const Arguments&) {
  reject(
      "this gpt2 has no server: the .deb package has it, and so has a build on a machine with "
      "libmicrohttpd (Debian: libmicrohttpd-dev)");
}

}  // namespace gpt2::cli
