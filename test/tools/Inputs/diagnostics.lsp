{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":123,"rootPath":"weft","capabilities":{},"trace":"off"}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
  "uri":"test:///good.mlir",
  "languageId":"mlir",
  "version":1,
  "text":"func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {\n%y = weft.activation silu %x : tensor<?x64xf32>\nreturn %y : tensor<?x64xf32>\n}"
}}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
  "uri":"test:///bad.mlir",
  "languageId":"mlir",
  "version":1,
  "text":"tile.program @p symbols [] grid [#tile.extent<\"+\", 1>] {\n}"
}}}
// -----
{"jsonrpc":"2.0","id":3,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
