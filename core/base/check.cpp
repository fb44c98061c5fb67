#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "assay: internal error at %s:%d: check `%s` failed%s%s\n", file, line,
               condition, message.empty() ? "" : ": ", message.c_str());
  std::fputs("assay: this is a bug in assay, not in your input; please report it\n", stderr);
  std::_Exit(70);
}

}  // namespace assay
