// Among the unpacked files of the single executable: code inside the executable itself can't import modules.
'use strict'
import('./dist/main.js')
