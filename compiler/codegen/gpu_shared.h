// Values in shared memory, where truth is a byte. Internal to compiler/codegen.
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace assay {

inline auto shared_type(llvm::IRBuilder<>& b, llvm::Type* type) -> llvm::Type* {
  return type->isIntegerTy(1) ? b.getInt8Ty() : type;
}
inline auto as_shared(llvm::IRBuilder<>& b, llvm::Value* value) -> llvm::Value* {
  return b.CreateZExtOrBitCast(value, shared_type(b, value->getType()));
}
inline auto from_shared(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Type* type)
    -> llvm::Value* {
  return type->isIntegerTy(1) ? b.CreateTrunc(value, type) : value;
}

}  // namespace assay
