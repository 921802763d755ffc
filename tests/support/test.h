#pragma once

// What most tests use: Catch2, checks of refusals, temporary directories, is_slow(), and the
// standard library.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/is_slow.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"
