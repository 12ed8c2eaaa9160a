export {
  PICTURE_SIZE,
  type ReportFigure,
  type ReportMessage,
  type ReportTile,
  reportHtml,
  reportPictures,
  reportSubject,
  reportText,
} from './message.ts'
